import { count, oneOf } from '../../core/options/kinds.ts'
import { checkOptions, type OptionShape } from '../../core/options/shape.ts'
import type { Serializer } from '../../core/serializer.ts'
import { refuseArgument } from '../../core/text/refuse-argument.ts'
import { type Automaton, compilePattern } from '../../operators/cep/automaton.ts'
import type {
  MatchContext,
  PartOfMatch,
  PatternProcessFunction,
} from '../../operators/cep/function.ts'
import { PatternOperator } from '../../operators/cep/operator.ts'
import type { RecordsByStage } from '../../operators/cep/term.ts'
import { type OutputTag, requireTag } from '../../operators/port/output-tag.ts'
import { refusePromise } from '../../operators/port/refuse-promise.ts'
import { requireFunction } from '../checks/function-argument.ts'
import { sampleOf } from '../checks/function-factory.ts'
import { FUNCTION_USES } from '../checks/function-uses.ts'
import type { DataStream } from '../data-stream.ts'
import { commonSerializer } from '../graph-draft.ts'
import { KeyedStream } from '../keyed-stream.ts'
import { Pattern } from './pattern.ts'

/** Options of a pattern on a stream. */
export interface PatternOptions {
  /** Most partial matches of a key, with the matches that wait for one of them. @default 10000 */
  readonly maxPartialMatches?: number
  /**
   * What happens with more. `fail`: the job fails with TOO_MANY_PARTIAL_MATCHES. `drop-oldest`: those that started first are
   * dropped and counted (`numPartialMatchesDropped`). @default fail
   */
  readonly whenFull?: 'fail' | 'drop-oldest'
}

const PATTERN: OptionShape<PatternOptions> = {
  maxPartialMatches: count,
  whenFull: oneOf('fail', 'drop-oldest'),
}

const MOST_PARTIAL_MATCHES = 10_000

/** A pattern whose matches are of a type. */
type PatternOf<T, M> = Pick<Pattern<T, never, never, never>, 'spec'> & { readonly matchType: M }

/** What `CEP` offers. */
export interface ComplexEventProcessing {
  /**
   * Looks for a pattern in the records of each key, in the order of their event times. Throws INVALID_ARGUMENT for a pattern
   * that breaks a rule.
   */
  pattern<K, T, M>(
    stream: KeyedStream<K, T>,
    pattern: PatternOf<T, M>,
    options?: PatternOptions,
  ): PatternStream<K, T, M>
}

/** Complex event processing: patterns over the records of a key (Flink's `CEP`). */
export const CEP: ComplexEventProcessing = {
  pattern: (stream, pattern, options = {}) => {
    if (!(stream instanceof KeyedStream)) {
      refuseArgument('CEP.pattern(...)', stream, 'a stream with a key: call keyBy(...) before it')
    }
    if (!(pattern instanceof Pattern)) {
      const takes = "a pattern, such as Pattern.of<Order>().begin('first').next('second')"
      refuseArgument('CEP.pattern(...)', pattern, takes, 'as its pattern')
    }
    checkOptions('CEP.pattern', PATTERN, options)
    return new PatternStream(stream, compilePattern(pattern.spec), options)
  },
}

/** A keyed stream with a pattern, before the function that makes results of its matches. */
export class PatternStream<K, T, M> {
  private readonly stream: KeyedStream<K, T>
  private readonly automaton: Automaton<T>
  private readonly options: PatternOptions
  private lateDataTag: OutputTag<T> | undefined
  private timedOutTag: OutputTag<PartOfMatch<M>> | undefined

  constructor(stream: KeyedStream<K, T>, automaton: Automaton<T>, options: PatternOptions) {
    this.stream = stream
    this.automaton = automaton
    this.options = options
  }

  /** Sends records behind the watermark to a side output. Without this they are dropped, and counted. */
  sideOutputLateData(tag: OutputTag<T>): this {
    requireTag(tag, 'sideOutputLateData')
    this.lateDataTag = tag
    return this
  }

  /** Sends partial matches that `within` has ended to a side output; matches themselves are not among them. */
  sideOutputTimedOut(tag: OutputTag<PartOfMatch<M>>): this {
    requireTag(tag, 'sideOutputTimedOut')
    this.timedOutTag = tag
    return this
  }

  /** Makes one result of each match. Its timestamp is that of the last record of the match. */
  select<OUT>(select: (match: M, context: MatchContext<K>) => OUT): DataStream<OUT> {
    requireFunction(select, FUNCTION_USES.select)
    return this.add(() => ({
      processMatch(match, context, out) {
        const result = select(match, context)
        if (result instanceof Promise) refusePromise(result, 'the function of select')
        out.collect(result)
      },
    }))
  }

  /** Makes any number of results of each match, and of partial matches that time out; `create` makes a function for every subtask. */
  process<OUT>(create: () => PatternProcessFunction<K, M, OUT>): DataStream<OUT> {
    sampleOf(create, { call: 'process', operator: 'Pattern', methods: ['processMatch'] })
    return this.add(create)
  }

  private add<OUT>(create: () => PatternProcessFunction<K, M, OUT>): DataStream<OUT> {
    const { automaton, lateDataTag, timedOutTag, stream } = this
    const { maxPartialMatches = MOST_PARTIAL_MATCHES, whenFull = 'fail' } = this.options
    const { factory, origins, keySerializer } = stream
    const serializer = commonSerializer(origins) as Serializer<T>
    const operator = () =>
      new PatternOperator<K, T, OUT>({
        automaton,
        userFunction: create() as PatternProcessFunction<K, RecordsByStage<T>, OUT>,
        ...{ keySerializer, serializer, lateDataTag, timedOutTag, maxPartialMatches, whenFull },
      })
    return factory.add(
      {
        name: 'Pattern',
        inputs: 1,
        needsKey: true,
        needsEventTime: true,
        sideOutputs: 'any',
        body: () => ({ kind: 'operator', create: operator }),
      },
      [origins],
    )
  }
}
