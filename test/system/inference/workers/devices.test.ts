import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runCommandLine } from '../../../../src/cli/run-command-line.ts'
import { nodeFileSystem } from '../../../../src/files/node-file-system.ts'
import { openInferenceEngine } from '../../../../src/inference/engine/engine.ts'
import { pushModel } from '../../../../src/inference/repository/push.ts'
import { ModelsProcess } from '../../../../src/jobs/models/process.ts'
import { recordedIo } from '../../../cli/recorded-io.ts'
import { until } from '../../../run/until.ts'
import { floats, floatsOf, linearModel } from '../models.ts'

/*
 * Devices on a machine that may have none: CUDA with a number that no machine has is never there. What a session is opened
 * with on a device that is there, `test/inference/runners/device-session.test.ts` has.
 */

const ABSENT = 'cuda:99'

let folder: string
let root: string
let models: ModelsProcess

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-devices-'))
  root = join(folder, 'models')
  const linear = linearModel(folder, { inputs: 2, outputs: 1, factor: 3 })
  const file = linear.kind === 'onnx' ? linear.file : ''
  await pushModel(nodeFileSystem, { root, name: 'linear', file })
})

afterEach(async () => {
  await models?.[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

async function serve(settings: string): Promise<void> {
  await writeFile(join(root, 'linear', 'deployment.yaml'), `slo-ms: 60000\n${settings}\n`)
  models = await ModelsProcess.start({
    repository: root,
    port: 0,
    scanMs: 50,
    engine: openInferenceEngine(),
  })
}

/** What `weir model status` prints. */
async function status(): Promise<string> {
  const { io, out } = recordedIo()
  const words = ['model', 'status', 'linear', '--port', String(models.port)]
  expect(await runCommandLine(words, io)).toBe(0)
  return out.join('\n')
}

async function answer(): Promise<number[]> {
  const request = { inputs: [floats('x', [1, 2], [1, 2])], outputs: [] }
  const { outputs } = await models.state.inferRaw('linear', request, { deadlineMs: 60_000 })
  return floatsOf(outputs[0]!)
}

describe('a model whose settings name a device that is not there', () => {
  it('is refused, with what the device needs and the two ways out', async () => {
    await serve(`device: ${ABSENT}`)
    const shown = await status()
    expect(shown).toContain('1 unavailable')
    expect(shown).toMatch(/cannot be loaded on cuda:99: .+\. it needs an NVIDIA driver/)
    expect(shown).toContain('"fallback: cpu" with this device')
    await expect(answer()).rejects.toMatchObject({
      code: 'MODEL_NOT_LOADED',
      message: expect.stringContaining('cuda:99'),
    })
  })

  it('runs on the CPU where the settings allow it, and the status says so and why', async () => {
    await serve(`device: ${ABSENT}\nfallback: cpu\nworkers: 2`)
    expect(await answer()).toEqual([9])
    expect(await status()).toMatch(
      /\n {2}2 workers run on cpu: the model cannot be loaded on cuda:99: /,
    )
  })

  it('goes on with the settings before, when those with the device are new', async () => {
    await serve('')
    expect(await status()).not.toContain('run on')
    const file = join(root, 'linear', 'deployment.yaml')
    await writeFile(file, `${await readFile(file, 'utf8')}device: ${ABSENT}\n`)
    await until('the problem is shown', async () => (await status()).includes('cuda:99'))
    expect(await answer()).toEqual([9])
  })
})

it('workers are divided among the devices of a list, also in processes of their own', async () => {
  await serve(`device: [cpu, ${ABSENT}]\nfallback: cpu\nisolation: process\nthreads: 1`)
  expect(await answer()).toEqual([9])
  const shown = await status()
  expect(shown).toContain('\n  1 worker runs on cpu\n')
  expect(shown).toContain('\n  1 worker runs on cpu: the model cannot be loaded on cuda:99')
})

it.each([
  ['device: [cpu, cuda:0]\nworkers: 1', 'device names 2 devices, and 1 workers leave some'],
  ['device: cpu', 'device and threads are for ONNX files'],
  ['threads: 2', 'device and threads are for ONNX files'],
])('settings that would change nothing are refused: %s', async (settings, message) => {
  if (!settings.includes('workers')) {
    const module = `export default {
      signature: { inputs: [], outputs: [{ name: 'y', datatype: 'FP32', shape: [1] }] },
      run: () => [],
    }`
    await writeFile(join(folder, 'model.mjs'), module)
    await pushModel(nodeFileSystem, { root, name: 'linear', file: join(folder, 'model.mjs') })
  }
  await serve(settings)
  expect(await status()).toContain(message)
})
