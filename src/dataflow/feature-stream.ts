import { WeirError } from '../core/errors.ts'
import { name, numberIn, oneOf } from '../core/options/kinds.ts'
import { checkArgument, checkOptions, type OptionShape } from '../core/options/shape.ts'
import type { FeatureDefinition, FeatureValues } from '../operators/features/definition.ts'
import { FeaturesOperator, type FeatureView } from '../operators/features/operator.ts'
import { type FeatureOptions, FeaturePlan } from '../operators/features/plan.ts'
import { requireFunction } from './checks/function-argument.ts'
import { FUNCTION_USES } from './checks/function-uses.ts'
import type { DataStream } from './data-stream.ts'
import type { NodeDraft, StreamOrigin } from './graph-draft.ts'
import { NodeSettingsBase } from './node-settings.ts'
import type { StreamFactory } from './stream-factory.ts'

/** Options of queryable features. */
export interface QueryableFeaturesOptions {
  /** `row`: an object of the values by their names. `vector`: float32 in the order of the definition, for models. @default row */
  readonly as?: 'row' | 'vector'
  /** In a vector, what stands for a value that is null. @default NaN */
  readonly missing?: number
  /**
   * `now`: a query reads the features as of the wall clock. `event-time`: as of the watermark, or of the key's newest event
   * where that is newer, for streams that are replayed. @default now
   */
  readonly readAt?: 'now' | 'event-time'
}

const QUERYABLE: OptionShape<QueryableFeaturesOptions> = {
  as: oneOf('row', 'vector'),
  missing: numberIn(),
  readAt: oneOf('now', 'event-time'),
}

/** What `features` of a keyed stream was given. */
interface FeaturesCall<D> {
  readonly definition: D
  readonly options: FeatureOptions
}

/** What the operator is to do besides folding, which the calls of its stream say. */
interface FeatureUses<T, D> {
  view?: FeatureView
  join?: (event: T, features: FeatureValues<D>) => unknown
}

/** The features of each key of a stream: one operator, which queries and joined streams share. */
export class FeatureStream<T, D extends FeatureDefinition<T>> extends NodeSettingsBase {
  private readonly factory: StreamFactory
  private readonly draft: NodeDraft
  private readonly plan: FeaturePlan<T, D>
  private readonly uses: FeatureUses<T, D>

  /** For the classes of this folder; jobs call `features` of a keyed stream. Throws INVALID_ARGUMENT. */
  constructor(
    factory: StreamFactory,
    origins: readonly StreamOrigin[],
    { definition, options }: FeaturesCall<D>,
  ) {
    const plan = (): FeaturePlan<T, D> => new FeaturePlan<T, D>(definition, options)
    const checked = plan()
    const uses: FeatureUses<T, D> = {}
    const draft = factory.draft.addNode(
      {
        name: 'Features',
        inputs: 1,
        needsKey: true,
        needsEventTime: true,
        body: ({ eventTime }) => ({
          kind: 'operator',
          create: () => new FeaturesOperator<T, D>({ plan, ...uses }, eventTime),
        }),
      },
      [origins],
    )
    super([{ node: draft, tag: undefined, partitioning: undefined }])
    this.factory = factory
    this.draft = draft
    this.plan = checked
    this.uses = uses
  }

  /** Most bytes that the row of a key can have; a key of few events has far fewer. */
  get mostBytesOfRow(): number {
    return this.plan.mostBytes
  }

  /**
   * Lets clients query the features of a key under `queryableName`: tiles that have left their window do not count when
   * the query is answered. Throws INVALID_ARGUMENT, INVALID_GRAPH for a second call.
   */
  asQueryableState(queryableName: string, options: QueryableFeaturesOptions = {}): this {
    checkArgument('asQueryableState', 'queryableName', name, queryableName)
    checkOptions('asQueryableState', QUERYABLE, options)
    const { as = 'row', missing = Number.NaN, readAt = 'now' } = options
    this.requireFirst(this.uses.view, 'asQueryableState')
    if (as === 'vector') this.plan.requireNumbers('asQueryableState')
    this.uses.view = { queryableName, as, missing, readAt }
    this.draft.discarded = true
    return this
  }

  /**
   * A result for each event, from it and the features of its key before it, as the operator has seen the events: one that
   * comes late does not change former results. Throws INVALID_ARGUMENT, INVALID_GRAPH for a second call.
   */
  join<OUT>(join: (event: T, features: FeatureValues<D>) => OUT): DataStream<OUT> {
    requireFunction(join, FUNCTION_USES.joinFeatures)
    this.requireFirst(this.uses.join, 'join')
    this.uses.join = join
    return this.factory.outputOf<OUT>(this.draft)
  }

  private requireFirst(before: unknown, call: string): void {
    if (before === undefined) return
    throw new WeirError(
      'INVALID_GRAPH',
      `${call}(...) of operator "${this.draft.name}" is called twice, and it has one row a key and one result an event: use what the first call gave, or call features(...) of the keyed stream again`,
    )
  }
}
