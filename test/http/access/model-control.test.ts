import { describe, expect, it } from 'vitest'
import { AllowedHosts } from '../../../src/http/access/allowed-hosts.ts'
import { decideModelControl, modelControlText } from '../../../src/http/access/model-control.ts'

const hosts = AllowedHosts.parse('models.example:8000', '--allow-remote')
const NONE = new AllowedHosts()

describe('model control over HTTP', () => {
  it('is off unless it is asked for, and never without tokens', () => {
    const off = { isAllowed: false, takesModules: false, hosts: NONE }
    expect(decideModelControl({ ...off, hasTokens: true })).toEqual(off)
    expect(decideModelControl({ ...off, hasTokens: false })).toEqual(off)
    const on = { ...off, isAllowed: true }
    expect(decideModelControl({ ...on, hasTokens: true })).toEqual(on)
    expect(() => decideModelControl({ ...on, hasTokens: false })).toThrow('needs tokens')
  })

  it('is what modules and hosts of other servers are about: without it they are refused', () => {
    const off = { isAllowed: false, hasTokens: true }
    expect(() => decideModelControl({ ...off, takesModules: true, hosts: NONE })).toThrow(
      '--model-control',
    )
    expect(() => decideModelControl({ ...off, takesModules: false, hosts })).toThrow(
      '--model-control',
    )
  })

  it('says at the start what clients may do', () => {
    const text = (isAllowed: boolean, takesModules: boolean, hosts: AllowedHosts) =>
      modelControlText({ isAllowed, takesModules, hosts })
    expect(text(false, false, NONE)).toBe('model control is off')
    expect(text(true, false, NONE)).toBe(
      'model control is on: admins may load, unload and register ONNX files',
    )
    expect(text(true, true, hosts)).toBe(
      'model control is on: admins may load, unload and register ONNX files, modules, whose code runs here, and models of models.example:8000',
    )
  })
})
