import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { weir } from '../cli/command-process.ts'

it('names a wrong configuration as the JobManager in the foreground does, with the same exit status', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-cluster-'))
  try {
    const words = ['-D', 'rest.prt=1', '--data-dir', folder]
    const foreground = await weir(['jobmanager', ...words]).ended
    expect(foreground).toMatchObject({ code: 2, stderr: expect.stringContaining('rest.port') })
    expect(await weir(['cluster', 'start', ...words]).ended).toMatchObject({
      code: 2,
      stderr: foreground.stderr,
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
