#!/usr/bin/env node
import nodeModule from 'node:module'
import { unsupportedNode } from '../core/lifetime/supported-node.ts'
import { makeOwnFolder, ownTemporaryFolder } from '../files/own-folder.ts'

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

/**
 * Keeps compiled code on disk for the next start of this process and of its threads, in the folder
 * NODE_COMPILE_CACHE, or in one of this user among the temporary files; NODE_DISABLE_COMPILE_CACHE=1 turns the
 * cache off. Node runs what it finds there, so that without a folder of this user alone nothing is kept. Each
 * thread writes its own part when it has started, because the process may be killed later.
 */
function keepCompiledCode(): void {
  const own = ownTemporaryFolder('weir-code')
  const folder = process.env['NODE_COMPILE_CACHE'] ?? (makeOwnFolder(own) ? own : undefined)
  if (folder === undefined) return
  // Threads read it from their environment before they load the first module.
  process.env['NODE_COMPILE_CACHE'] = folder
  nodeModule.enableCompileCache(folder)
}
