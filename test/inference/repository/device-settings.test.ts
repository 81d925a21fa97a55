import { describe, expect, it } from 'vitest'
import { readSettingsText } from '../../../src/inference/repository/settings.ts'

const read = (text: string) => readSettingsText(text, 'd.yaml').deployment

describe('the device in the settings of a model', () => {
  it('is one, or a list, with what it may be given', () => {
    expect(read('device: cuda:0\nfallback: cpu\nthreads: 4')).toMatchObject({
      devices: ['cuda:0'],
      fallback: 'cpu',
      threads: 4,
    })
    expect(read('device: [cuda:0, cuda:1]\nworkers: 4')).toMatchObject({
      devices: ['cuda:0', 'cuda:1'],
      workers: 4,
    })
    expect(read('device: webgpu\nprovider-options: { preferredLayout: NHWC }')).toMatchObject({
      providerOptions: { preferredLayout: 'NHWC' },
    })
  })

  it.each([
    ['device: cudda:0', /^d\.yaml:1: device takes a device \(.*did you mean cuda\?\)/],
    ['slo-ms: 5\ndevice: 3', /^d\.yaml:2: device takes a device such as cuda:0, or a list/],
    ['device: []', /a list of them/],
    ['device: cuda:0\nfallback: gpu', /^d\.yaml:2: fallback takes cpu, beside a device/],
    ['fallback: cpu', /^d\.yaml:1: fallback takes cpu, beside a device/],
    ['threads: 0', /threads takes a number from 1/],
    [
      'device: webgpu\nprovider-options: { preferedLayout: NHWC }',
      /^d\.yaml:2: provider-options\.preferedLayout is unknown; did you mean provider-options\.preferredLayout\?/,
    ],
    [
      'device: cuda:0\nprovider-options: { gpu_mem_limit: 5 }',
      /provider-options takes nothing with device cuda:0/,
    ],
    ['provider-options: { useArena: true }', /takes nothing with device cpu/],
    [
      'device: [coreml, webgpu]\nprovider-options: { coreMlFlags: 1 }',
      /takes nothing with device coreml, webgpu/,
    ],
  ])('is refused with its line where it would change nothing: %s', (text, message) => {
    expect(() => read(text)).toThrow(message)
  })
})
