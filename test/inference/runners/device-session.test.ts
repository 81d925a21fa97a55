import type { InferenceSession } from 'onnxruntime-node'
import { describe, expect, it } from 'vitest'
import { openOnDevice } from '../../../src/inference/runners/device-session.ts'

type Provider = InferenceSession.ExecutionProviderConfig

/** A stand-in for ONNX Runtime: `broken` providers cannot open a session; the session is what it was opened with. */
function runtime(backends: readonly string[], broken: readonly string[] = []) {
  const nameOf = (provider: Provider): string =>
    typeof provider === 'string' ? provider : provider.name
  return {
    backends,
    async create(provider: Provider): Promise<Provider> {
      const name = nameOf(provider)
      if (broken.includes(name)) throw new Error(`no lib${name}.so\nat line 12`)
      return provider
    },
  }
}

const CUDA = ['cpu', 'webgpu', 'cuda', 'tensorrt']

describe('a session on a device', () => {
  it('has the provider, the number and the options of the settings', async () => {
    expect(await openOnDevice({ name: 'cuda:1' }, runtime(CUDA))).toEqual({
      session: { name: 'cuda', deviceId: 1 },
      placement: { name: 'cuda:1' },
    })
    const options = { validationMode: 'disabled', forceCpuNodeNames: ['a'] }
    expect(await openOnDevice({ name: 'webgpu', options }, runtime(CUDA))).toEqual({
      session: { name: 'webgpu', ...options },
      placement: { name: 'webgpu' },
    })
    expect((await openOnDevice({ name: 'cpu' }, runtime(CUDA))).session).toBe('cpu')
  })

  it('is refused where the device cannot be used, with what it needs and the two ways out', async () => {
    const refused = openOnDevice({ name: 'cuda:0' }, runtime(CUDA, ['cuda']))
    await expect(refused).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      message: expect.stringMatching(
        /^the model cannot be loaded on cuda:0: no libcuda\.so\. it needs an NVIDIA driver.*"fallback: cpu"/,
      ),
    })
    await expect(refused).rejects.not.toThrow('at line 12')
  })

  it('is refused where this build of ONNX Runtime does not have the provider', async () => {
    await expect(openOnDevice({ name: 'coreml' }, runtime(CUDA))).rejects.toThrow(
      'on coreml: this onnxruntime-node has cpu, webgpu, cuda, tensorrt. it needs macOS',
    )
  })

  it('falls back to the CPU where the settings allow it, and says why', async () => {
    const choice = { name: 'cuda:0', fallback: 'cpu' } as const
    for (const given of [runtime(CUDA, ['cuda']), runtime(['cpu'])]) {
      const { session, placement } = await openOnDevice(choice, given)
      expect(session).toBe('cpu')
      expect(placement).toEqual({
        name: 'cpu',
        why: expect.stringContaining('cannot be loaded on cuda:0'),
      })
    }
  })

  it('that the CPU cannot open either fails with the error of the CPU', async () => {
    const broken = runtime(CUDA, ['cuda', 'cpu'])
    await expect(openOnDevice({ name: 'cuda', fallback: 'cpu' }, broken)).rejects.toThrow('libcpu')
  })

  it.each([
    ['cudda:0', 'did you mean cuda?'],
    ['webgpu:1', 'has no numbered devices'],
    ['', 'they are cpu, cuda'],
    ['cuda:x', 'is no device'],
  ])('is of a device that there is: %s', async (name, message) => {
    await expect(openOnDevice({ name }, runtime(CUDA))).rejects.toThrow(message)
  })
})
