import { isWeirError, type WeirError } from '../../core/errors.ts'
import type { ModelSignature, TensorSpec } from '../port/signature.ts'
import type { Tensor } from '../port/tensor.ts'
import type { Selector } from '../selectors/selector.ts'
import { sortSteps } from './graph.ts'
import { isFloat } from './scores.ts'
import type { Arm, PipelineSpec, SelectStep, Step } from './spec.ts'

/** What a pipeline is checked against. */
export interface CheckFacts {
  /** Signature of a model by its reference, or why it cannot be asked. */
  signatureOf(reference: string): ModelSignature | WeirError
  /** The selector of a step. Throws for a name or a parameter that no selector has. */
  openSelector(step: SelectStep, arms: readonly string[]): Selector
  /** Outputs that answer where the pipeline cannot; undefined for none. */
  readonly default: readonly Tensor[] | undefined
}

/** A pipeline that can run. */
export interface Plan {
  readonly spec: PipelineSpec
  readonly signature: ModelSignature
  readonly selectors: ReadonlyMap<string, Selector>
  /** The output with the scores of each step; steps without one are missing. */
  readonly scores: ReadonlyMap<string, string>
  /** Names of the inputs of the request that each step with a model takes. */
  readonly inputs: ReadonlyMap<string, ReadonlySet<string>>
}

/** Checks a pipeline against the models that it names. Returns the plan, or every fault. Pure. */
export function checkPipeline(
  spec: PipelineSpec,
  facts: CheckFacts,
): { readonly plan: Plan } | { readonly faults: readonly string[] } {
  const { order, faults } = sortSteps(spec)
  const checker = new Checker(spec, facts)
  const found = [...faults, ...checker.check(order)]
  return found.length > 0 ? { faults: found } : { plan: checker.plan() }
}

class Checker {
  private readonly spec: PipelineSpec
  private readonly facts: CheckFacts
  private readonly faults: string[] = []
  private readonly outputs = new Map<string, readonly TensorSpec[]>()
  private readonly scores = new Map<string, string>()
  private readonly selectors = new Map<string, Selector>()
  private readonly inputs = new Map<string, { readonly spec: TensorSpec; readonly of: string }>()
  private readonly inputsOfSteps = new Map<string, Set<string>>()

  constructor(spec: PipelineSpec, facts: CheckFacts) {
    this.spec = spec
    this.facts = facts
  }

  check(order: readonly string[]): readonly string[] {
    for (const name of order) {
      const step = this.spec.steps.get(name)!
      const outputs = this.outputsOf(name, step)
      if (outputs === undefined) continue
      this.outputs.set(name, outputs)
      const scores = this.scoresIn(outputs)
      if (scores !== undefined) this.scores.set(name, scores)
    }
    for (const [name, step] of this.spec.steps) {
      if (step.kind === 'branch' && this.outputs.has(step.of)) {
        this.requireScores(step.of, `step "${name}" asks for its confidence`)
      }
    }
    this.checkDefault()
    return this.faults
  }

  plan(): Plan {
    const { spec, scores, selectors } = this
    const inputs = Array.from(this.inputs.values(), (input) => input.spec)
    const outputs = this.outputs.get(spec.answer)!
    const alone = 'each model of the pipeline shares its own runs'
    const signature = { inputs, outputs, alone }
    return { spec, scores, selectors, signature, inputs: this.inputsOfSteps }
  }

  private outputsOf(name: string, step: Step): readonly TensorSpec[] | undefined {
    switch (step.kind) {
      case 'model':
        return this.modelOutputs(name, step)
      case 'branch':
        return this.sameOutputs(name, [
          { name: 'branch', step: step.of },
          { name: 'then', step: step.next },
        ])
      case 'select':
        return this.selectOutputs(name, step)
      case 'combine':
        return this.combinedOutputs(name, step.arms)
    }
  }

  private modelOutputs(name: string, { model, inputs }: Extract<Step, { kind: 'model' }>) {
    const signature = this.facts.signatureOf(model)
    if (isWeirError(signature)) {
      this.faults.push(`step "${name}": ${signature.message}`)
      return undefined
    }
    if (signature.parts === true) {
      this.faults.push(
        `step "${name}": model "${model}" answers in parts, and a pipeline has whole answers only`,
      )
      return undefined
    }
    for (const input of Object.keys(inputs)) {
      if (signature.inputs.some((spec) => spec.name === input)) continue
      const known = signature.inputs.map((spec) => spec.name).join(', ')
      this.faults.push(`step "${name}": model "${model}" has no input "${input}"; it has ${known}`)
    }
    const own = signature.inputs.filter((spec) => inputs[spec.name] === undefined)
    this.inputsOfSteps.set(name, new Set(own.map((spec) => spec.name)))
    for (const spec of own) this.takeInput(name, spec)
    for (const spec of signature.inputs) {
      const from = inputs[spec.name]
      if (from !== undefined) this.requireFits(name, spec, from)
    }
    return signature.outputs
  }

  /** An input that the request has: all steps that take it must take the same. */
  private takeInput(name: string, spec: TensorSpec): void {
    const known = this.inputs.get(spec.name)
    if (known === undefined) this.inputs.set(spec.name, { spec, of: name })
    else if (isAlike(known.spec, spec)) {
      const shape = known.spec.shape.map((size, i) => (size === -1 ? spec.shape[i]! : size))
      this.inputs.set(spec.name, { ...known, spec: { ...known.spec, shape } })
    } else {
      this.faults.push(
        `step "${name}" takes ${textOf(spec)}, and step "${known.of}" ${textOf(known.spec)}; one input of the request cannot be both`,
      )
    }
  }

  private requireFits(
    name: string,
    spec: TensorSpec,
    from: { step: string; output: string },
  ): void {
    const outputs = this.outputs.get(from.step)
    if (outputs === undefined) return
    const output = outputs.find((one) => one.name === from.output)
    if (output === undefined) {
      const known = outputs.map((one) => one.name).join(', ')
      this.faults.push(
        `step "${name}": step "${from.step}" has no output "${from.output}"; it has ${known}`,
      )
    } else if (!isAlike(output, spec)) {
      this.faults.push(
        `step "${name}" takes ${textOf(spec)}, and step "${from.step}" gives ${textOf(output)}`,
      )
    }
  }

  private selectOutputs(name: string, step: SelectStep): readonly TensorSpec[] | undefined {
    const arms = step.arms.map((arm) => arm.name)
    try {
      const selector = this.facts.openSelector(step, arms)
      this.selectors.set(name, selector)
      if (isCombining(selector, arms)) return this.combinedOutputs(name, step.arms)
    } catch (error) {
      if (!isWeirError(error)) throw error
      this.faults.push(`step "${name}": ${error.message}`)
    }
    return this.sameOutputs(name, step.arms)
  }

  /** The outputs of the arms, which must be the same; undefined where one is not known. */
  private sameOutputs(name: string, arms: readonly Arm[]): readonly TensorSpec[] | undefined {
    const [first, ...others] = arms.flatMap((arm) => {
      const outputs = this.outputs.get(arm.step)
      return outputs === undefined ? [] : [{ arm, outputs }]
    })
    for (const { arm, outputs } of others) {
      const isSame =
        outputs.length === first!.outputs.length &&
        outputs.every((spec) =>
          first!.outputs.some((one) => one.name === spec.name && isAlike(one, spec)),
        )
      if (isSame) continue
      const [one, other] = [first!.outputs, outputs].map((of) => of.map(textOf).join(', '))
      this.faults.push(
        `step "${name}": its arms have different outputs: "${first!.arm.name}" gives ${one}, and "${arm.name}" ${other}`,
      )
    }
    return first?.outputs
  }

  /** The scores of the arms as one output of float32. */
  private combinedOutputs(name: string, arms: readonly Arm[]): readonly TensorSpec[] | undefined {
    const same = this.sameOutputs(name, arms)
    for (const arm of arms) {
      if (this.outputs.has(arm.step)) {
        this.requireScores(arm.step, `step "${name}" makes one answer of scores`)
      }
    }
    const scores = this.scoresIn(same ?? [])
    const spec = same?.find((one) => one.name === scores)
    return spec === undefined
      ? undefined
      : [{ name: spec.name, datatype: 'FP32', shape: spec.shape }]
  }

  /** The one output of numbers with a fraction, or that of `scores`. */
  private scoresIn(outputs: readonly TensorSpec[]): string | undefined {
    const floats = outputs.filter(({ datatype }) => isFloat(datatype)).map(({ name }) => name)
    const { scores } = this.spec
    if (scores !== undefined) return floats.includes(scores) ? scores : undefined
    return floats.length === 1 ? floats[0] : undefined
  }

  private requireScores(step: string, why: string): void {
    if (this.scores.has(step)) return
    const outputs = this.outputs.get(step)!.map(textOf).join(', ')
    const fault = `the outputs of step "${step}" are ${outputs}, and ${why}; name the output of FP32 or FP64 that has the scores with "scores: OUTPUT"`
    if (!this.faults.includes(fault)) this.faults.push(fault)
  }

  private checkDefault(): void {
    const { minConfidence, answer } = this.spec
    const outputs = this.outputs.get(answer)
    const { default: given } = this.facts
    if (minConfidence > 0 && given === undefined) {
      this.faults.push(
        'min-confidence is set, and there is no answer for what is below it; give "default" in deployment.yaml',
      )
    }
    if (outputs === undefined) return
    if (minConfidence > 0) this.requireScores(answer, 'min-confidence asks for its confidence')
    for (const spec of given === undefined ? [] : outputs) {
      const found = given!.find(({ name }) => name === spec.name)
      if (found !== undefined && isAlike(found, spec)) continue
      const what = found === undefined ? 'has no such output' : `has ${textOf(found)}`
      this.faults.push(
        `the answer has the output ${textOf(spec)}, and the default of deployment.yaml ${what}`,
      )
    }
  }
}

/** Whether a selector makes one answer of the outputs of several arms. */
function isCombining(selector: Selector, arms: readonly string[]): boolean {
  if (selector.enough !== undefined || arms.length < 2) return false
  const random = { next: () => 0.5, below: () => 0, normal: () => 0 }
  const facts = { arms, random, context: '*' }
  return selector.select(selector.init(arms.length), facts).run.length > 1
}

type Shaped = Pick<TensorSpec, 'name' | 'datatype' | 'shape'>

function isAlike(one: Shaped, other: Shaped): boolean {
  return (
    one.datatype === other.datatype &&
    one.shape.length === other.shape.length &&
    one.shape.every((size, i) => size === -1 || other.shape[i] === -1 || size === other.shape[i])
  )
}

const textOf = ({ name, datatype, shape }: Shaped): string =>
  `"${name}" ${datatype} [${shape.join(', ')}]`
