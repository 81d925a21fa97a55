import { describe, expect, it } from 'vitest'
import { TriggerSources } from '../../../src/cli/training/trigger-sources.ts'
import type { RetrainFacts, RetrainPolicy } from '../../../src/models/registry/retrain-trigger.ts'

const FACTS: RetrainFacts = {
  isRunning: false,
  isAskedFor: false,
  liveVersion: 3,
  newObservations: 7,
  msSinceTraining: 90_000,
  freshnessMs: 61_000,
  error: undefined,
}

function made(policy: RetrainPolicy) {
  const lines: string[] = []
  const sources = new TriggerSources({
    policy,
    model: 'als-model',
    job: '127.0.0.1:9069',
    observations: 'ratings',
    learn: 'weir learn als',
    report: (line) => lines.push(line),
  })
  return { sources, lines }
}

describe('what the triggers of a retraining read', () => {
  it('is said at the first evaluation, for each trigger that is given', () => {
    const { sources, lines } = made({ count: 10, everyMs: 1000, freshnessMs: 1000 })
    sources.looked(FACTS)
    sources.looked(FACTS)
    expect(lines).toEqual([
      '--count: the records of topic ratings that no training has read; now 7',
      '--every: the time since the last training, and the records of topic ratings that no training has read; now 90 s',
      '--freshness: the newest observation that the live version was trained on; now 61 s old',
    ])
  })

  it('is said where it is unknown', () => {
    const { sources, lines } = made({ everyMs: 1000, freshnessMs: 1000 })
    sources.looked({ ...FACTS, msSinceTraining: 1.7e12, freshnessMs: Number.NaN })
    expect(lines[0]).toContain('; it was never trained on them')
    expect(lines[1]).toContain('does not say its time, so this trigger waits for the next version')
  })

  it('is said when it changes, for the triggers that need the error', () => {
    const { sources, lines } = made({ errorLevel: 1, errorRise: 1, onDrift: true })
    sources.errorFrom({ kind: 'awaited', version: 3 })
    sources.errorFrom({ kind: 'reported', version: 3, count: 812 })
    sources.errorFrom({ kind: 'predicted', version: 4 })
    for (const line of lines) expect(line).toMatch(/^--error-level, --error-rise, --on-drift: /)
    expect(lines[0]).toContain('which has learned nothing on version 3 yet')
    expect(lines[1]).toContain('version 3, now of 812 predictions')
    expect(lines[2]).toContain('predicted with version 4 by query')
    const others = made({ count: 10 })
    others.sources.errorFrom({ kind: 'predicted', version: 4 })
    expect(others.lines).toEqual([])
  })

  it('is no error while no version is live, which is said each time that it begins', () => {
    const { sources, lines } = made({ onDrift: true })
    const { liveVersion: _, ...none } = FACTS
    for (const facts of [none, none, FACTS, FACTS, none]) sources.looked(facts)
    expect(lines).toHaveLength(2)
    expect(lines[0]).toMatch(/^--on-drift: no version of als-model is live, .*weir model promote N/)
  })

  it('that fails is reported once, until it has worked or fails otherwise', () => {
    const { sources, lines } = made({ count: 10_000 })
    sources.looked(FACTS)
    for (const message of ['a', 'a', 'b', 'b']) sources.failed(message)
    sources.looked(FACTS)
    sources.failed('b')
    expect(lines.slice(1)).toEqual(['a', 'b', 'b'])
  })
})
