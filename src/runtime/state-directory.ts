import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JobConfiguration } from './configuration.ts'

/** Folder below which jobs spill state that does not fit into memory; each in one of its own id. */
export function stateDirectoryOf(configuration: JobConfiguration): string {
  return configuration.stateDirectory ?? join(tmpdir(), 'weir-state')
}
