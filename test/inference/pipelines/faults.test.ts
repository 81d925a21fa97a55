import { describe, expect, it } from 'vitest'
import type { ModelSignature } from '../../../src/inference/port/signature.ts'
import { floats, PipelineHarness, type TestModel } from './harness.ts'

const THREE_SCORES: ModelSignature = {
  inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 1] }],
  outputs: [{ name: 'p', datatype: 'FP32', shape: [-1, 3] }],
}
const LABELS: ModelSignature = {
  inputs: [{ name: 'x', datatype: 'FP64', shape: [-1, 1] }],
  outputs: [{ name: 'label', datatype: 'INT64', shape: [-1] }],
}

const MODELS: Readonly<Record<string, TestModel>> = {
  a: { answers: [0.9, 0.1] },
  b: { answers: [0.9, 0.1] },
  three: { signature: THREE_SCORES, answers: [] },
  labels: { signature: LABELS, answers: [] },
}

/** The faults of a pipeline, as its error says them. */
async function faultsOf(
  text: string,
  terms: Parameters<PipelineHarness['load']>[1] = {},
): Promise<string> {
  await using pipe = await PipelineHarness.open(MODELS)
  const error: unknown = await pipe.load(text, terms).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  return error instanceof Error ? error.message : 'none'
}

describe('the faults of a pipeline', () => {
  it('come all in one answer: of the file', async () => {
    const faults = await faultsOf(
      'stepz: {}\nsteps:\n  one: { modle: a }\n  two: { branch: a, below: 7, then: b }\nmin-confidence: high\nanswer: thre\n',
    )
    expect(faults).toMatch(/^pipeline "pipe" has 5 faults: /)
    expect(faults).toContain('pipeline.yaml:1: stepz is unknown; did you mean steps?')
    expect(faults).toContain(
      'pipeline.yaml:3: steps.one takes one of the keys model, select, branch, combine',
    )
    expect(faults).toContain('steps.two.below takes a confidence from 0 to 1, not 7')
    expect(faults).toContain('min-confidence takes a confidence from 0 to 1, not "high"')
    expect(faults).toContain('answer names no step; the steps are one, two')
  })

  it('come all in one answer: of the graph and of its models', async () => {
    const faults = await faultsOf(`
steps:
  one: { branch: two, below: 0.5, then: a }
  two: { branch: one, below: 0.5, then: nobody }
  mixed: { combine: mean, arms: { a: a, three: three } }
  four: { select: exp4, arms: { labels: labels, also: labels } }
  five: { select: exp5, arms: { a: a } }
  six: { select: exp3, speed: 3, arms: { a: a } }
answer: one
min-confidence: 0.5
`)
    expect(faults).toContain('the steps one -> two -> one need each other')
    expect(faults).toContain('step "mixed" is never reached from the answer "one"')
    expect(faults).toContain('no model is named "nobody"')
    expect(faults).toContain('"a" gives "p" FP32 [-1, 2], and "three" "p" FP32 [-1, 3]')
    expect(faults).toContain('step "labels" takes "x" FP64 [-1, 1], and step "')
    expect(faults).toContain(
      'name the output of FP32 or FP64 that has the scores with "scores: OUTPUT"',
    )
    expect(faults).toContain('there is no selector "exp5"')
    expect(faults).toContain('step "six"')
    expect(faults).toContain('speed')
    expect(faults).toContain('min-confidence is set, and there is no answer for what is below it')
  })

  it('are those of its settings, too: a default of another form, and settings that only models have', async () => {
    const text = 'steps:\n  answer: { model: a }\nmin-confidence: 0.5\n'
    const wrong = [floats('q', [1, 2], [0, 0])]
    expect(await faultsOf(text, { default: wrong })).toContain(
      'the answer has the output "p" FP32 [-1, 2], and the default of deployment.yaml has no such output',
    )
    expect(await faultsOf(text, { default: [floats('p', [1, 2], [0, 0])], workers: 2 })).toContain(
      'and not workers; give those to its models',
    )
    expect(await faultsOf(text, { default: [floats('p', [1, 2], [0, 0])] })).toBe('none')
  })

  it('are inputs that another step does not give', async () => {
    const faults = await faultsOf(
      'steps:\n  first: { model: a }\n  answer: { model: b, inputs: { x: first/q, y: first/p } }\nanswer: answer\n',
    )
    expect(faults).toContain('model "b" has no input "y"; it has x')
    expect(faults).toContain('step "first" has no output "q"; it has p')
    expect(await faultsOf('steps:\n  answer: { model: b, inputs: { x: gone/p } }\n')).toContain(
      'step "answer" needs a step "gone", and there is none',
    )
  })
})
