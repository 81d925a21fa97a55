import { needsOf, type PipelineSpec } from './spec.ts'

/** Order in which the steps of a pipeline can be looked at: each behind those that it needs. */
export interface StepOrder {
  readonly order: readonly string[]
  readonly faults: readonly string[]
}

/** Sorts the steps of a pipeline, and names the cycles, the steps that are named and missing, and those that no answer needs. Pure. */
export function sortSteps({ steps, answer }: PipelineSpec): StepOrder {
  const faults: string[] = []
  const order: string[] = []
  const state = new Map<string, 'open' | 'done'>()
  const visit = (name: string, way: readonly string[]): void => {
    const step = steps.get(name)
    if (state.get(name) === 'done') return
    if (state.get(name) === 'open') {
      const cycle = [...way.slice(way.indexOf(name)), name].join(' -> ')
      faults.push(
        `the steps ${cycle} need each other, and none could begin; where the model of that name is meant, give the step another name`,
      )
      return
    }
    if (step === undefined) return
    state.set(name, 'open')
    for (const need of needsOf(step)) {
      if (!steps.has(need)) {
        faults.push(`step "${name}" needs a step "${need}", and there is none`)
      }
      visit(need, [...way, name])
    }
    state.set(name, 'done')
    order.push(name)
  }
  visit(answer, [])
  const needed = new Set([...steps.values()].flatMap(needsOf))
  const isFound = state.size > 0
  for (const name of steps.keys()) {
    if (!isFound || state.has(name) || needed.has(name)) continue
    faults.push(
      `step "${name}" is never reached from the answer "${answer}"; remove it, or name it there`,
    )
    // Its own faults are faults of the file, too.
    visit(name, [])
  }
  return { order, faults }
}
