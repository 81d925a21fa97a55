import { parentPort } from 'node:worker_threads'
import { WeirError } from '../../../src/core/errors.ts'
import * as all from '../../../src/index.ts'

/** From where a thread gets the modules of `src`. */
export interface Imported {
  readonly place: string
  /** Whether an export of the package is that of the module that it comes from. */
  readonly isOne: boolean
}

const imported: Imported = {
  place: import.meta.resolve('../../../src/core/errors.ts'),
  isOne: WeirError === all.WeirError,
}
parentPort?.postMessage(imported)
if (parentPort === null) process.stdout.write(JSON.stringify(imported))
