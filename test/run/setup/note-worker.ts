import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { workerFile } from '../stalls/run-processes.ts'
import { FILES_VARIABLE } from '../stalls/stall-reporter.ts'

/*
 * Setup of each file of system tests: notes which file this worker runs, for a run that stands still.
 */

const folder = process.env[FILES_VARIABLE]
if (folder !== undefined) {
  writeFileSync(join(folder, workerFile(process.pid)), expect.getState().testPath!)
}
