import type { Graph, GraphNode } from './graph.ts'
import { namedSize, type Size } from './size.ts'
import {
  countsItems,
  fixedTensor,
  isFixed,
  Mixing,
  shapeOf,
  type TracedTensor,
  type TracedValue,
} from './traced-value.ts'

/** Traces the graph of a branch or a loop, whose inputs are the values; throws Mixing. */
export type TraceGraph = (graph: Graph, inputs: readonly TracedValue[]) => readonly TracedValue[]

/** One operation of a graph with what is known of its inputs. */
export class Operation {
  readonly node: GraphNode
  readonly opset: number
  /** Undefined for an input that is left out. */
  readonly inputs: readonly (TracedTensor | undefined)[]
  readonly trace: TraceGraph
  private readonly newName: () => string

  constructor(
    node: GraphNode,
    inputs: readonly (TracedTensor | undefined)[],
    {
      opset,
      trace,
      newName,
    }: { readonly opset: number; readonly trace: TraceGraph; readonly newName: () => string },
  ) {
    this.node = node
    this.inputs = inputs
    this.opset = opset
    this.trace = trace
    this.newName = newName
  }

  get name(): string {
    return this.node.operation
  }

  /** The input, which must be there. Throws Mixing. */
  input(i: number): TracedTensor {
    const input = this.inputs[i]
    if (input === undefined) throw new Mixing(`${this.name} lacks an input`)
    return input
  }

  /** The input, which must not depend on the batch; undefined when it is left out. Throws Mixing. */
  fixed(i: number): TracedTensor | undefined {
    const input = this.inputs[i]
    if (input === undefined || isFixed(input)) return input
    throw this.mixing('takes a parameter from the items')
  }

  /** The shape of an input. Throws Mixing. */
  shape(i: number): readonly Size[] {
    return shapeOf(this.input(i), `the input of ${this.name}`)
  }

  number(name: string, otherwise: number): number {
    return this.node.attributes.get(name)?.number ?? otherwise
  }

  numbers(name: string): readonly number[] | undefined {
    return this.node.attributes.get(name)?.numbers
  }

  text(name: string, otherwise: string): string {
    return this.node.attributes.get(name)?.text || otherwise
  }

  /** The numbers of an attribute, or of a constant input; undefined when both are left out. Throws Mixing. */
  settings(name: string, input: number): readonly number[] | undefined {
    const given = this.numbers(name)
    if (given !== undefined) return given
    const tensor = this.fixed(input)
    if (tensor === undefined) return undefined
    const known = tensor.numbers?.map(({ factor, names }) =>
      names.length > 0 ? Number.NaN : factor,
    )
    if (known === undefined || known.some(Number.isNaN))
      throw this.mixing(`has ${name} that are not known`)
    return known
  }

  /** The axis from 0 on. */
  axis(axis: number, rank: number): number {
    return axis < 0 ? axis + rank : axis
  }

  /** Whether any input depends on the batch. */
  get isOfItems(): boolean {
    return this.inputs.some((input) => input !== undefined && !isFixed(input))
  }

  /** Throws Mixing when an input is the number of items: as a number, it makes each item depend on the others. */
  requireNoCounts(): void {
    this.requireNoCountsBut(-1)
  }

  /** As `requireNoCounts`, for all inputs but one, which holds sizes. Throws Mixing. */
  requireNoCountsBut(sizes: number): void {
    if (this.inputs.some((input, i) => i !== sizes && input !== undefined && countsItems(input))) {
      throw this.mixing('computes with the number of items')
    }
  }

  /** Outputs that do not depend on the batch, of shapes that are not known. */
  fixedOutputs(): readonly TracedTensor[] {
    return this.node.outputs.map(() => fixedTensor())
  }

  /** A size that is the same for every batch, and of which nothing else is known. */
  anySize(): Size {
    return namedSize(this.newName())
  }

  mixing(what: string): Mixing {
    return new Mixing(`${this.name} ${what}`)
  }

  /** The error of an operation along the axis of the items. */
  over(axis: number): Mixing {
    return this.mixing(`over axis ${axis}`)
  }
}

/** What an operation gives, from what it is given. Throws Mixing. */
export type Rule = (operation: Operation) => readonly TracedTensor[]
