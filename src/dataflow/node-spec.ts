import { flag, listOf, text } from '../core/options/kinds.ts'
import { serializer } from '../core/options/ports.ts'
import { checkOptions, type OptionShape } from '../core/options/shape.ts'
import type { Serializer } from '../core/serializer.ts'
import { refuseArgument } from '../core/text/refuse-argument.ts'
import type { StreamOperator } from '../operators/port/operator.ts'
import type { OutputTag } from '../operators/port/output-tag.ts'
import type { MapStateDescriptor } from '../state/port/descriptors.ts'
import { type FactoryUse, requireFactory, sampleOf } from './checks/function-factory.ts'
import type { NodeBody } from './stream-graph.ts'

/** Properties of the complete graph on which the body of a node can depend. */
export interface NodeContext {
  readonly jobName: string
  /** Whether watermarks reach the node. */
  readonly eventTime: boolean
}

/** An operator as the user describes it. The complete graph decides the rest. */
export interface NodeSpec {
  readonly name: string
  readonly inputs: number
  readonly body: (context: NodeContext) => NodeBody
  /** Encodes what the node emits. @default MessagePack */
  readonly serializer?: Serializer<unknown>
  readonly isSink?: boolean
  /** Whether it ends a branch and keeps it as queryable state, so that a harness runs it. */
  readonly isStore?: boolean
  readonly parallelism?: number
  /** Ids of the side outputs to which it can emit; `any` when they are not known. @default none */
  readonly sideOutputs?: readonly string[] | 'any'
  /** Model that it asks, a name or a name and an alias. */
  readonly model?: string
  /** The user's function has an `onTimer`. */
  readonly hasOnTimer?: boolean
  /** Uses state or timers of a key. */
  readonly needsKey?: boolean
  /** Is useless without watermarks. */
  readonly needsEventTime?: boolean
  /** Makes watermarks: a source with a strategy, or `assignTimestampsAndWatermarks`. */
  readonly makesWatermarks?: boolean
  /** Windows to which it adds each record. */
  readonly windowsOfRecord?: number
  /** Declared by `broadcast(...)` on the second input. */
  readonly broadcastStates?: readonly MapStateDescriptor<unknown, unknown>[]
}

/** Options of an operator that the user wrote. */
export interface TransformOptions<OUT> {
  /** Encodes its results where they cross slots. @default MessagePack */
  readonly serializer?: Serializer<OUT>
  /** Whether it uses keyed state; the graph is refused if its input is not keyed. @default false */
  readonly needsKey?: boolean
  /** Whether it ends the branch. @default false */
  readonly isSink?: boolean
  /** Ids of the side outputs to which it emits. @default any */
  readonly sideOutputs?: readonly string[]
}

const TRANSFORM: OptionShape<TransformOptions<unknown>> = {
  serializer: serializer<unknown>(),
  needsKey: flag,
  isSink: flag,
  sideOutputs: listOf(text),
}

/** An operator that the user wrote; `create` makes one for every subtask. */
export interface Transform<OUT> {
  readonly name: string
  readonly inputs: number
  readonly create: () => StreamOperator
  readonly options: TransformOptions<OUT>
}

/** The node of an operator that the user wrote. */
export function transformSpec<OUT>({ name, inputs, create, options }: Transform<OUT>): NodeSpec {
  requireTransform(name, create)
  checkOptions('transform', TRANSFORM, options)
  return {
    name,
    inputs,
    body: () => ({ kind: 'operator', create }),
    sideOutputs: options.sideOutputs ?? 'any',
    isSink: options.isSink ?? false,
    needsKey: options.needsKey ?? false,
    ...(options.serializer === undefined
      ? {}
      : { serializer: options.serializer as Serializer<unknown> }),
  }
}

function requireTransform(name: unknown, create: unknown): void {
  const takes =
    "a name and a function that makes an operator: transform('Name', () => new MyOperator())"
  if (typeof name !== 'string') refuseArgument('transform(...)', name, takes)
  requireFactory(create, { call: 'transform', operator: name, methods: ['processElement'] })
}

/** The properties of a user function that are visible without running it. */
interface InspectableFunction {
  readonly sideOutputs?: readonly OutputTag<unknown>[]
  readonly onTimer?: unknown
}

/** Makes one function to find out which side outputs it declares and whether it has timers. Throws as `sampleOf`. */
export function inspectFunction(
  create: () => InspectableFunction,
  use: FactoryUse,
): Pick<NodeSpec, 'name' | 'sideOutputs' | 'hasOnTimer'> {
  const sample = sampleOf(create, use)
  return {
    name: use.operator,
    sideOutputs: sample.sideOutputs?.map((tag) => tag.id) ?? 'any',
    hasOnTimer: sample.onTimer !== undefined,
  }
}
