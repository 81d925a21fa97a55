import { isWeirError, messageOf } from '../../core/errors.ts'
import { isModelName } from '../repository/name.ts'
import { type Fields, SettingReader } from '../repository/setting-reader.ts'
import { readYaml } from '../repository/yaml-file.ts'
import type { Arm, PipelineSpec, Step, StepOutput } from './spec.ts'

/** Keys of the file. */
const KEYS = [
  'steps',
  'answer',
  'scores',
  'min-confidence',
  'reward',
  'ttl-ms',
  'contexts',
  'decisions',
]
/** The key that says what a step is, with the others of such a step; a selector has its own. */
const STEP_KEYS: Readonly<Record<string, readonly string[]>> = {
  model: ['inputs'],
  select: [],
  branch: ['below', 'then'],
  combine: ['arms'],
}
const STEP_KINDS = Object.keys(STEP_KEYS)

const HOUR_MS = 3_600_000
const DEFAULT_CONTEXTS = 10_000

/** A pipeline's file: what could be read of it, and every fault that it has, with the line. */
export interface ReadPipeline {
  readonly spec: PipelineSpec
  readonly faults: readonly string[]
}

/** Reads `pipeline.yaml`, or the same as JSON. `path` names the file in the faults. Nothing is thrown: the faults say it. */
export function readPipelineText(text: string, path: string): ReadPipeline {
  const empty: PipelineSpec = {
    steps: new Map(),
    answer: '',
    scores: undefined,
    minConfidence: 0,
    reward: { least: 0, most: 1 },
    topic: undefined,
    ttlMs: HOUR_MS,
    contexts: DEFAULT_CONTEXTS,
  }
  try {
    const { value, lineOf } = readYaml(text, path)
    const reader = new PipelineReader(path, lineOf)
    return { spec: reader.pipeline(value), faults: reader.faults }
  } catch (error) {
    return { spec: empty, faults: [messageOf(error)] }
  }
}

/** Reads a file to its end, whatever is wrong in it. */
class PipelineReader extends SettingReader {
  readonly faults: string[] = []
  private readonly steps = new Map<string, Step>()

  pipeline(value: unknown): PipelineSpec {
    const fields = this.map(value, 'the file')
    this.attempt(() => this.requireKeys(fields, KEYS, ''), undefined)
    const given = this.attempt(() => this.map(fields['steps'], 'steps'), {})
    const named = Object.entries(given).filter(([name]) => this.isStepName(name))
    const names = named.map(([name]) => name)
    for (const [name, step] of named) {
      this.attempt(() => this.readStep(name, step, names), undefined)
    }
    const [only] = names
    const answer = this.attempt(() => this.text(fields, 'answer'), undefined)
    if (answer === undefined && names.length > 1) {
      this.faults.push(
        `${this.place('steps')}: answer says which of the steps ${names.join(', ')} gives the answer; it is missing`,
      )
    } else if (answer !== undefined && !names.includes(answer)) {
      this.faults.push(
        `${this.place('answer')}: answer names no step; the steps are ${names.join(', ')}`,
      )
    }
    if (only === undefined) this.faults.push(`${this.place('steps')}: the pipeline has no step`)
    return {
      steps: this.steps,
      answer: answer ?? only ?? '',
      scores: this.attempt(() => this.text(fields, 'scores'), undefined),
      minConfidence:
        this.attempt(() => this.share(fields, 'min-confidence', 'min-confidence'), 0) ?? 0,
      reward: this.attempt(() => this.range(fields['reward']), { least: 0, most: 1 }),
      topic: this.attempt(() => this.topic(fields['decisions']), undefined),
      ttlMs: this.attempt(() => this.number(fields, 'ttl-ms', { least: 1 }), HOUR_MS) ?? HOUR_MS,
      contexts: this.attempt(() => this.whole(fields, 'contexts'), undefined) ?? DEFAULT_CONTEXTS,
    }
  }

  /** What `read` gives, or `otherwise` with its error among the faults. */
  private attempt<T>(read: () => T, otherwise: T): T {
    try {
      return read()
    } catch (error) {
      if (!isWeirError(error)) throw error
      this.faults.push(error.message)
      return otherwise
    }
  }

  private isStepName(name: string): boolean {
    if (isModelName(name)) return true
    const shown = name.slice(0, 40)
    this.faults.push(
      `${this.place('steps')}: "${shown}" is no name of a step: it takes letters, digits, ".", "-" and "_"`,
    )
    return false
  }

  private readStep(name: string, value: unknown, names: readonly string[]): void {
    const key = `steps.${name}`
    const fields = this.map(value, key)
    const kinds = STEP_KINDS.filter((kind) => fields[kind] !== undefined)
    const [kind] = kinds
    if (kind === undefined || kinds.length > 1) {
      throw this.wrong(key, `one of the keys ${STEP_KINDS.join(', ')}`, Object.keys(fields))
    }
    if (kind !== 'select') this.requireKeys(fields, [kind, ...STEP_KEYS[kind]!], `${key}.`)
    this.steps.set(name, this.stepOf(kind, fields, { key, names }))
  }

  private stepOf(
    kind: string,
    fields: Fields,
    { key, names }: { readonly key: string; readonly names: readonly string[] },
  ): Step {
    const need = (field: string): string => this.needed(fields, field, key)
    if (kind === 'model') {
      const inputs =
        fields['inputs'] === undefined ? {} : this.map(fields['inputs'], `${key}.inputs`)
      return {
        kind,
        model: this.reference(need('model'), `${key}.model`),
        inputs: this.inputsOf(inputs, `${key}.inputs`),
      }
    }
    if (kind === 'branch') {
      const below = this.share(fields, 'below', `${key}.below`)
      if (below === undefined) throw this.wrong(`${key}.below`, 'a confidence from 0 to 1', below)
      const of = this.stepFor(need('branch'), { key: `${key}.branch`, names })
      return { kind, of, below, next: this.stepFor(need('then'), { key: `${key}.then`, names }) }
    }
    const arms = this.armsOf(fields['arms'], { key: `${key}.arms`, names })
    if (kind === 'combine') {
      const how = need('combine')
      if (how !== 'votes' && how !== 'mean')
        throw this.wrong(`${key}.combine`, 'votes or mean', how)
      return { kind, how, arms }
    }
    const { select: _, arms: __, ...parameters } = fields
    return { kind: 'select', by: need('select'), arms, parameters }
  }

  private needed(fields: Fields, field: string, key: string): string {
    const value = fields[field]
    if (typeof value === 'string' && value !== '') return value
    throw this.wrong(`${key}.${field}`, 'a name', value)
  }

  private armsOf(
    value: unknown,
    { key, names }: { readonly key: string; readonly names: readonly string[] },
  ): readonly Arm[] {
    const arms = Object.entries(this.map(value, key)).map(([name, of]) => {
      if (typeof of !== 'string') throw this.wrong(`${key}.${name}`, 'a model or a step', of)
      return { name, step: this.stepFor(of, { key: `${key}.${name}`, names }) }
    })
    if (arms.length === 0) throw this.wrong(key, 'one arm at least', value)
    return arms
  }

  /** The step of this name; a model that no step is named after is a step of its own. */
  private stepFor(
    text: string,
    { key, names }: { readonly key: string; readonly names: readonly string[] },
  ): string {
    if (names.includes(text)) return text
    const model = this.reference(text, key)
    if (!this.steps.has(model)) this.steps.set(model, { kind: 'model', model, inputs: {} })
    return model
  }

  private reference(text: string, key: string): string {
    const parts = text.split('@')
    if (parts.length <= 2 && parts.every(isModelName)) return text
    throw this.wrong(key, 'a model, as NAME, NAME@ALIAS or NAME@VERSION', text)
  }

  private inputsOf(inputs: Fields, key: string): Readonly<Record<string, StepOutput>> {
    const read = Object.entries(inputs).map(([name, from]) => {
      const [step, output, ...more] = typeof from === 'string' ? from.split('/') : []
      const isRight = step !== undefined && output !== undefined && more.length === 0
      if (!isRight) throw this.wrong(`${key}.${name}`, 'STEP/OUTPUT', from)
      return [name, { step, output }] as const
    })
    return Object.fromEntries(read)
  }

  /** A number from 0 to 1; undefined for none. */
  private share(fields: Fields, field: string, key: string): number | undefined {
    const value = fields[field]
    if (value === undefined) return undefined
    if (typeof value === 'number' && value >= 0 && value <= 1) return value
    throw this.wrong(key, 'a confidence from 0 to 1', value)
  }

  private topic(value: unknown): string | undefined {
    if (value === undefined) return undefined
    const fields = this.map(value, 'decisions')
    this.requireKeys(fields, ['topic'], 'decisions.')
    return this.needed(fields, 'topic', 'decisions')
  }

  private range(value: unknown): PipelineSpec['reward'] {
    if (value === undefined) return { least: 0, most: 1 }
    if (Array.isArray(value) && value.length === 2) {
      const [least, most]: readonly unknown[] = value
      if (Number.isFinite(least) && Number.isFinite(most) && Number(least) < Number(most)) {
        return { least: Number(least), most: Number(most) }
      }
    }
    throw this.wrong('reward', 'the lowest and the highest reward, such as [0, 1]', value)
  }
}
