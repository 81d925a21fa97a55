#!/usr/bin/env node
import { keepCompiledCode } from './code-cache.ts'

/* Entry of the `weir` command. Modules imported above the next line are compiled at every start. */

keepCompiledCode()
const { startCommandLine } = await import('./start-command-line.ts')
await startCommandLine()
