import { enableCompileCache } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Keeps compiled code on disk for the next start of this process and of its threads. The folder is
 * NODE_COMPILE_CACHE, or Node's default one; NODE_DISABLE_COMPILE_CACHE=1 turns the cache off. Each
 * thread writes its own part when it has started, because the process may be killed later.
 */
export function keepCompiledCode(): void {
  // Threads read it from their environment before they load the first module.
  process.env['NODE_COMPILE_CACHE'] ??= join(tmpdir(), 'node-compile-cache')
  enableCompileCache(process.env['NODE_COMPILE_CACHE'])
}
