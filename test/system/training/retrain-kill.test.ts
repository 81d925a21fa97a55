import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readyVersions } from '../../../src/models/versions/model-versions.ts'
import { BUILT_MODULES_FLAG } from '../../run/setup/built-modules.ts'
import { weir } from '../cli/command-process.ts'
import { feedHundred, logTopics } from './retrain-log.ts'

const MODULE = new URL('./retrain.process.ts', import.meta.url)

it('a candidate of a retraining that was killed is deleted by the next weir retrain', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-retrain-kill-'))
  try {
    await using topics = logTopics(folder)
    await feedHundred(topics, 0)
    const killed = fork(MODULE, [folder], { execArgv: [BUILT_MODULES_FLAG] })
    expect(await once(killed, 'exit')).toEqual([null, 'SIGKILL'])
    expect(await readyVersions(topics, 'als-model')).toMatchObject([{ version: 1 }])
    const options = ['--once', '--no-serving', '--observations', 'ratings']
    const { code, stdout, stderr } = await weir(['retrain', ...options, '--data-dir', folder]).ended
    expect(code, stderr + stdout).toBe(0)
    expect(stderr + stdout).toContain('deleting version 1')
    expect(await readyVersions(topics, 'als-model')).toMatchObject([{ version: 2 }])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
