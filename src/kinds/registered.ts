import { WeirError } from '../core/errors.ts'
import type { OptionShape } from '../core/options/shape.ts'
import type { RegisteredVersion } from '../models/registry/version.ts'
import { ALS } from './als/kind.ts'
import { LINEAR } from './linear/kind.ts'
import { POPULARITY } from './popularity/kind.ts'
import type { ModelKind } from './port/kind.ts'

/** The registration of the kinds of models. A version is of the first kind that says so; factor rows of no other name are ALS. */
const REGISTERED = [POPULARITY, LINEAR, ALS] as const

type Registered = (typeof REGISTERED)[number]
type ModelsOf<K> = K extends ModelKind<infer M, infer _T, infer _G, infer _O> ? M : never
type TrainingsOf<K> = K extends ModelKind<infer _M, infer T, infer _G, infer _O> ? T : never

/** The kind of a model that is retrained, with its options. */
export type RetrainedModel = ModelsOf<Registered>

/** What to train: the kind of the model, and its options. */
export type Training = TrainingsOf<Registered>

/** A kind of model that is registered. */
export type RegisteredKind = ModelKind<RetrainedModel, Training>

/** All kinds of models. */
export const KINDS: readonly RegisteredKind[] = REGISTERED

/** Fields of any of the members of a union. */
type FieldsOf<U> = {
  readonly [K in U extends unknown ? keyof U : never]?: U extends unknown
    ? K extends keyof U
      ? U[K]
      : never
    : never
}

/** The options of all kinds; those of one kind have the field of its name. */
export type AnyModel = FieldsOf<RetrainedModel>

/** The options of all kinds, without the golden set. */
export const KIND_OPTIONS = Object.assign(
  {},
  ...KINDS.map(({ options }) => options),
) as OptionShape<Omit<AnyModel, 'golden'>>

/** The kind whose options these are. Throws INVALID_ARGUMENT where they are of none, or of several. */
export function kindOf(model: RetrainedModel | Training): RegisteredKind {
  const given: Readonly<Record<string, unknown>> = { ...model }
  const [kind, ...others] = KINDS.filter(({ name }) => given[name] !== undefined)
  if (kind !== undefined && others.length === 0) return kind
  const names = KINDS.map(({ name }) => name).join(', ')
  const problem = kind === undefined ? 'no kind of model' : 'several kinds of models'
  throw new WeirError('INVALID_ARGUMENT', `the options name ${problem}: give one of ${names}`)
}

/** The kind of a version. */
export function kindOfVersion(version: RegisteredVersion): RegisteredKind {
  return KINDS.find((kind) => kind.includes(version)) as RegisteredKind
}

/** The kind of a name; undefined for another word. */
export function kindNamed(name: string): RegisteredKind | undefined {
  return KINDS.find((kind) => kind.name === name)
}
