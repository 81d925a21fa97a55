import { expect, it } from 'vitest'
import { WeirError } from '../../../src/core/errors.ts'
import { RemoteRetries } from '../../../src/jobs/models/remote-retries.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

const REMOTE = { kind: 'remote', url: 'http://127.0.0.1:1', model: 'm' } as const
const away = new WeirError('MODEL_NOT_LOADED', 'the model server does not answer')
const wrong = new WeirError('REMOTE_MODEL_FAILED', 'the model server answered with HTTP 500')

it('a load of a model whose server was away is tried again after 1, 2, 4 s and at most 30 s', () => {
  const clock = new ManualClock()
  const retries = new RemoteRetries(clock)
  const pauses: number[] = []
  let sinceMs = 0
  const fail = (): void =>
    retries.failed('far', REMOTE, away, () => {
      pauses.push(clock.nowMs() - sinceMs)
      sinceMs = clock.nowMs()
      fail()
    })
  sinceMs = clock.nowMs()
  fail()
  for (let second = 0; second < 95; second++) clock.advance(1_000)
  expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
  retries[Symbol.dispose]()
})

it('only the same failure is known, until the model is loaded or gone', () => {
  const retries = new RemoteRetries(new ManualClock())
  expect(retries.isKnown('far', away)).toBe(false)
  retries.failed('far', REMOTE, away, () => {})
  expect(retries.isKnown('far', away)).toBe(true)
  expect([retries.isKnown('far', wrong), retries.isKnown('near', away)]).toEqual([false, false])
  retries.ended('far')
  expect(retries.isKnown('far', away)).toBe(false)
})

it('nothing else is tried again: models of this machine, and servers that answer', () => {
  const clock = new ManualClock()
  const retries = new RemoteRetries(clock)
  let again = 0
  retries.failed('near', { kind: 'onnx', file: 'm.onnx' }, away, () => again++)
  retries.failed('far', REMOTE, wrong, () => again++)
  retries[Symbol.dispose]()
  retries.failed('far', REMOTE, away, () => again++)
  clock.advance(60_000)
  expect(again).toBe(0)
})
