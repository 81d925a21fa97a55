import { enableCompileCache } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Keeps compiled code on disk for the next start of this process and of the threads that it starts.
 * Where NODE_COMPILE_CACHE says, or in Node's usual folder; NODE_DISABLE_COMPILE_CACHE=1 turns it off.
 * Threads write theirs themselves once they are up, for the process may be killed.
 */
export function keepCompiledCode(): void {
  // Threads find it in their environment, before the first module is loaded.
  process.env['NODE_COMPILE_CACHE'] ??= join(tmpdir(), 'node-compile-cache')
  enableCompileCache(process.env['NODE_COMPILE_CACHE'])
}
