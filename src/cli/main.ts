#!/usr/bin/env node
import { keepCompiledCode } from './code-cache.ts'

/* Entry of the `weir` command. What is imported above the next line is compiled at every start. */

keepCompiledCode()
const { startCommandLine } = await import('./start-command-line.ts')
await startCommandLine()
