#!/usr/bin/env node
import { unsupportedNode } from '../core/lifetime/supported-node.ts'
import { keepCompiledCode } from './code-cache.ts'

/* Entry of the `weir` command. Modules imported above this line are compiled at every start. */

const problem = unsupportedNode(process.versions.node)
if (problem === undefined) {
  keepCompiledCode()
  const { startCommandLine } = await import('./start-command-line.ts')
  await startCommandLine()
} else {
  process.stderr.write(`weir: ${problem}\n`)
  process.exitCode = 1
}
