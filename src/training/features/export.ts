import { WeirError } from '../../core/errors.ts'
import { aFunction, either, kindOf, name, required, wholeNumber } from '../../core/options/kinds.ts'
import { checkArgument, checkOptions, type OptionShape } from '../../core/options/shape.ts'
import { describeValue } from '../../core/text/describe-value.ts'
import type { FeatureDefinition, FeatureValues } from '../../operators/features/definition.ts'
import { type FeatureOptions, FeaturePlan, hasTiles } from '../../operators/features/plan.ts'

/** A key of events and labels. */
export type ExportKey = string | number

/** What is known of a key at a time, which a model is to learn to say. */
export interface FeatureLabel<L> {
  readonly key: ExportKey
  /** Event time, ms since 1970. */
  readonly time: number
  readonly label: L
}

/** A label with the features of its key strictly before its time. */
export interface FeatureExample<D, L> extends FeatureLabel<L> {
  readonly features: FeatureValues<D>
}

/** Options of an export of features. `tiles` and `retention` are those of the operator. */
export interface ExportFeaturesOptions<T> extends Omit<FeatureOptions, 'maxAhead'> {
  readonly keyOf: (event: T) => ExportKey
  /** Event time, ms since 1970. */
  readonly timeOf: (event: T) => number
}

const EXPORT: OptionShape<ExportFeaturesOptions<unknown>> = {
  keyOf: required(aFunction()),
  timeOf: required(aFunction()),
  tiles: wholeNumber({ min: 1, max: 1000 }),
  retention: either(name, wholeNumber({ min: 1000 })),
}

/** Things in a list, or that come one by one. */
type Given<T> = Iterable<T> | AsyncIterable<T>

const GIVEN = kindOf<Given<unknown>>(
  'a list, or what for await reads',
  (given) =>
    typeof given === 'object' &&
    given !== null &&
    (Symbol.iterator in given || Symbol.asyncIterator in given),
)

/** The events and labels of one key. */
interface OfKey<T, L> {
  readonly events: (readonly [time: number, event: T])[]
  readonly labels: (readonly [place: number, label: FeatureLabel<L>])[]
}

/**
 * Examples for training: for each label the features of its key from the events strictly before its time, in the order of
 * the labels. An event counts however late it stands in `events`; an event of the label's own millisecond does not. It
 * folds and reads rows by the code of the operator. Events and labels may be in any order; both have to fit into memory.
 * Throws INVALID_ARGUMENT, with the number of the event or label, from 0.
 */
export async function exportFeatures<T, D extends FeatureDefinition<T>, L>(
  definition: D,
  events: Given<T>,
  labels: Given<FeatureLabel<L>>,
  options: ExportFeaturesOptions<T>,
): Promise<FeatureExample<D, L>[]> {
  checkOptions('exportFeatures', EXPORT as OptionShape<ExportFeaturesOptions<T>>, options)
  checkArgument('exportFeatures', 'events', GIVEN, events)
  checkArgument('exportFeatures', 'labels', GIVEN, labels)
  const { keyOf, timeOf, ...ofPlan } = options
  const plan = new FeaturePlan<T, D>(definition, ofPlan)
  const keys = new Map<ExportKey, OfKey<T, L>>()
  let places = 0
  for await (const label of labels) {
    requireKnown('label', places, label)
    ofKey(keys, label.key).labels.push([places++, label])
  }
  let number = 0
  for await (const event of events) {
    const found = { key: keyOf(event), time: timeOf(event) }
    requireKnown('event', number++, found)
    // Without a label of its key, an event has no example.
    keys.get(found.key)?.events.push([found.time, event])
  }
  const examples: FeatureExample<D, L>[] = new Array(places)
  for (const [key, one] of keys) exportKey(plan, key, one, examples)
  return examples
}

function exportKey<T, D extends FeatureDefinition<T>, L>(
  plan: FeaturePlan<T, D>,
  key: ExportKey,
  { events, labels }: OfKey<T, L>,
  examples: FeatureExample<D, L>[],
): void {
  const row = plan.newRow()
  const where = (): string => `exportFeatures, key ${key},`
  events.sort(([a], [b]) => a - b)
  labels.sort(([, a], [, b]) => a.time - b.time)
  let next = 0
  for (const [place, label] of labels) {
    for (; next < events.length && events[next]![0] < label.time; next++) {
      const [time, event] = events[next]!
      if (plan.take(event, where)) plan.fold(row, time)
    }
    examples[place] = { ...label, features: plan.read(row, label.time) }
  }
}

function ofKey<T, L>(keys: Map<ExportKey, OfKey<T, L>>, key: ExportKey): OfKey<T, L> {
  const known = keys.get(key)
  if (known !== undefined) return known
  const one: OfKey<T, L> = { events: [], labels: [] }
  keys.set(key, one)
  return one
}

function requireKnown(
  what: 'event' | 'label',
  number: number,
  { key, time }: { readonly key: unknown; readonly time: unknown },
): void {
  if (typeof key !== 'string' && typeof key !== 'number') {
    throw new WeirError(
      'INVALID_ARGUMENT',
      `${what} ${number} of exportFeatures has ${describeValue(key)} as its key, not a text or a number`,
    )
  }
  if (Number.isSafeInteger(time) && hasTiles(time as number)) return
  throw new WeirError(
    'INVALID_ARGUMENT',
    `${what} ${number} of exportFeatures, key ${key}, has ${describeValue(time)} as its time, not a whole number of ms from 1970 to 2106`,
  )
}
