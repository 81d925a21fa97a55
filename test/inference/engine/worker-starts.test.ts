import { describe, expect, it } from 'vitest'
import { DeviceTurns } from '../../../src/inference/engine/worker-starts.ts'

describe('the devices of a model', () => {
  it('are divided among its workers', () => {
    const turns = new DeviceTurns(['cuda:0', 'cuda:1'])
    const taken = Array.from({ length: 5 }, () => turns.take().device)
    expect(taken).toEqual(['cuda:0', 'cuda:1', 'cuda:0', 'cuda:1', 'cuda:0'])
  })

  it('give the device of a worker that has ended to the next one', () => {
    const turns = new DeviceTurns(['cuda:0', 'cuda:1'])
    const [, second] = [turns.take(), turns.take()]
    second!.end()
    expect(turns.take().device).toBe('cuda:1')
    expect(turns.take().device).toBe('cuda:0')
  })

  it('that are named twice have twice as many workers', () => {
    const turns = new DeviceTurns(['cuda:0', 'cuda:1', 'cuda:1'])
    const taken = Array.from({ length: 6 }, () => turns.take().device)
    expect(taken.filter((device) => device === 'cuda:1')).toHaveLength(4)
  })

  it('are none where the settings name none', () => {
    expect(new DeviceTurns(undefined).take().device).toBeUndefined()
  })
})
