import type { Random } from '../../../src/core/random.ts'
import type { Tensor } from '../../../src/inference/port/tensor.ts'
import { randomFloats, randomIntegers, SmallGraph } from './graphs.ts'

/** Kind of graph: the same random numbers give the same graph. */
export interface GraphKind {
  /** The file, and inputs of a request with so many rows; kinds with fixed rows take no notice of them. */
  make(random: Random): {
    readonly bytes: Uint8Array
    readonly request: (random: Random, rows: number) => readonly Tensor[]
  }
}

type Write = (
  graph: SmallGraph,
  x: string,
  width: number,
) => readonly [value: string, shape: readonly (number | string)[]]

/** Graphs of one input [batch, width]. */
export function ofRows(write: Write, axis = 'batch'): GraphKind {
  return {
    make(random) {
      const width = 4 + 2 * random.below(3)
      const graph = new SmallGraph(random)
      const [value, shape] = write(graph, graph.input('x', [axis, width]), width)
      graph.output('y', value, shape)
      return {
        bytes: graph.bytes(),
        request: (numbers, rows) => [randomFloats(numbers, 'x', rows, width)],
      }
    },
  }
}

/** Graphs of one input [batch, steps, width]. */
export function ofSteps(
  write: Write,
  axes: readonly [string, string | number] = ['batch', 3],
): GraphKind {
  return {
    make(random) {
      const width = 4
      const graph = new SmallGraph(random)
      const [value, shape] = write(graph, graph.input('x', [...axes, width]), width)
      graph.output('y', value, shape)
      return {
        bytes: graph.bytes(),
        request: (numbers, rows) => [randomFloats(numbers, 'x', rows, 3, width)],
      }
    },
  }
}

const B = 'batch'

/** A picture network: convolutions, normalisation, a sum with what was before, pooling, a layer of classes. */
const pictures: GraphKind = {
  make(random) {
    const g = new SmallGraph(random)
    const x = g.input('x', [B, 3, 8, 8])
    const pads = { pads: [1, 1, 1, 1] }
    const first = g.add('Relu', [g.add('Conv', [x, g.weights(4, 3, 3, 3)], pads)])
    const scale = [g.weights(4), g.weights(4), g.weights(4), g.add('Abs', [g.weights(4)])]
    const normal = g.add('BatchNormalization', [
      g.add('Conv', [first, g.weights(4, 4, 3, 3)], pads),
      ...scale,
    ])
    const pooled = g.add('MaxPool', [g.add('Add', [normal, first])], {
      kernel_shape: [2, 2],
      strides: [2, 2],
    })
    const flat = g.add('Flatten', [g.add('GlobalAveragePool', [pooled])])
    const y = g.add('Softmax', [g.add('Gemm', [flat, g.weights(4, 5), g.weights(5)])])
    g.output('y', y, [B, 5])
    return { bytes: g.bytes(), request: (r, rows) => [randomFloats(r, 'x', rows, 3, 8, 8)] }
  },
}

/** Attention over tokens with a mask, whose shapes the graph computes, as exporters write it. */
const bert: GraphKind = {
  make(random) {
    const g = new SmallGraph(random)
    const [tokens, heads, width] = [11, 2, 8]
    const ids = g.input('ids', [B, 'seq'], 'int64')
    const mask = g.input('mask', [B, 'seq'], 'int64')
    const sizes = g.add('Shape', [ids])
    const size = (i: number): string =>
      g.add('Unsqueeze', [g.add('Gather', [sizes, g.integer(i)]), g.integers(0)])
    const split = g.add(
      'Concat',
      [size(0), size(1), g.integers(heads), g.integers(width / heads)],
      { axis: 0 },
    )
    const whole = g.add('Concat', [size(0), size(1), g.integers(width)], { axis: 0 })
    const words = g.add('Gather', [g.weights(tokens, width), ids])
    const places = g.add('Slice', [g.weights(16, width), g.integers(0), size(1), g.integers(0)])
    const x = g.add('LayerNormalization', [
      g.add('Add', [words, places]),
      g.weights(width),
      g.weights(width),
    ])
    const head = (perm: number[]): string =>
      g.add(
        'Transpose',
        [g.add('Reshape', [g.add('MatMul', [x, g.weights(width, width)]), split])],
        { perm },
      )
    const scores = g.add('MatMul', [head([0, 2, 1, 3]), head([0, 2, 3, 1])])
    const open = g.add('Cast', [g.add('Unsqueeze', [mask, g.integers(1, 2)])], { to: 1 })
    const closed = g.add('Mul', [g.add('Sub', [g.number(1), open]), g.number(-10_000)])
    const attended = g.add('MatMul', [
      g.add('Softmax', [g.add('Add', [scores, closed])]),
      head([0, 2, 1, 3]),
    ])
    const merged = g.add('Reshape', [g.add('Transpose', [attended], { perm: [0, 2, 1, 3] }), whole])
    const next = g.add('Add', [merged, x])
    const first = g.add('Gather', [next, g.integer(0)], { axis: 1 })
    g.output('pooled', g.add('Tanh', [g.add('Gemm', [first, g.weights(width, 3)])]), [B, 3])
    g.output('hidden', next, [B, 'seq', width])
    return {
      bytes: g.bytes(),
      request: (r, rows) => {
        const steps = 2 + r.below(3)
        return [
          randomIntegers(r, { name: 'ids', below: tokens }, rows, steps),
          randomIntegers(r, { name: 'mask', below: 2 }, rows, steps),
        ]
      },
    }
  },
}

const lstmOf = (g: SmallGraph, x: string, operation: string): string[] => {
  const gates = operation === 'LSTM' ? 4 : operation === 'GRU' ? 3 : 1
  const weights = [g.weights(1, gates * 5, 4), g.weights(1, gates * 5, 5)]
  return g.addAll(operation, [x, ...weights], { count: 2, attributes: { hidden_size: 5 } })
}

/** Steps along the first axis, the batch along the second. */
const timeMajor = (operation: string): GraphKind => ({
  make(random) {
    const g = new SmallGraph(random)
    const [steps, last] = lstmOf(g, g.input('x', ['seq', B, 4]), operation)
    g.output('steps', g.add('Squeeze', [steps!, g.integers(1)]), ['seq', B, 5])
    g.output('last', g.add('Squeeze', [last!, g.integers(0)]), [B, 5])
    return { bytes: g.bytes(), request: (r, rows) => [randomFloats(r, 'x', 3, rows, 4)] }
  },
})

const twoTower: GraphKind = {
  make(random) {
    const g = new SmallGraph(random)
    const tower = (name: string, width: number): string => {
      const hidden = g.add('Relu', [
        g.add('MatMul', [g.input(name, [B, width]), g.weights(width, 6)]),
      ])
      return g.add('LpNormalization', [g.add('MatMul', [hidden, g.weights(6, 4)])], {
        axis: 1,
        p: 2,
      })
    }
    const [user, item] = [tower('user', 5), tower('item', 3)]
    g.output(
      'score',
      g.add('ReduceSum', [g.add('Mul', [user, item]), g.integers(1)], { keepdims: 0 }),
      [B],
    )
    g.output('vector', user, [B, 4])
    return {
      bytes: g.bytes(),
      request: (r, rows) => [randomFloats(r, 'user', rows, 5), randomFloats(r, 'item', rows, 3)],
    }
  },
}

/** A branch on an input that all requests of a run share. */
const branchOnFlag: GraphKind = {
  make(random) {
    const g = new SmallGraph(random)
    const x = g.input('x', [B, 4])
    const flag = g.input('flag', [], 'int64')
    const condition = g.add('Greater', [flag, g.integer(0)])
    const branch = (operation: string) => g.branch((inner) => inner.add(operation, [x]), [B, 4])
    const y = g.add('If', [condition], { then_branch: branch('Neg'), else_branch: branch('Abs') })
    g.output('y', y, [B, 4])
    return {
      bytes: g.bytes(),
      request: (r, rows) => [
        randomFloats(r, 'x', rows, 4),
        randomIntegers(r, { name: 'flag', below: 2 }),
      ],
    }
  },
}

const tokens: GraphKind = {
  make(random) {
    const g = new SmallGraph(random)
    const words = g.add('Gather', [g.weights(9, 4), g.input('ids', [B, 3], 'int64')])
    g.output('y', g.add('ReduceMean', [words], { axes: [1], keepdims: 0 }), [B, 4])
    return {
      bytes: g.bytes(),
      request: (r, rows) => [randomIntegers(r, { name: 'ids', below: 9 }, rows, 3)],
    }
  },
}

/** Rows by the numbers of another input with as many rows. */
const pickedWithin: GraphKind = {
  make(random) {
    const g = new SmallGraph(random)
    const picked = g.add('GatherElements', [g.input('x', [B, 6]), g.input('at', [B, 2], 'int64')], {
      axis: 1,
    })
    g.output('y', picked, [B, 2])
    return {
      bytes: g.bytes(),
      request: (r, rows) => [
        randomFloats(r, 'x', rows, 6),
        randomIntegers(r, { name: 'at', below: 6 }, rows, 2),
      ],
    }
  },
}

/** Kinds whose rows are independent, so that requests share runs. */
export const BATCHED_KINDS: Readonly<Record<string, GraphKind>> = {
  'linear layer': ofRows((g, x, width) => [
    g.add('Add', [g.add('MatMul', [x, g.weights(width, 3)]), g.weights(3)]),
    [B, 3],
  ]),
  'Gemm with turned weights': ofRows((g, x, width) => [
    g.add('Gemm', [x, g.weights(3, width), g.weights(3)], { transB: 1 }),
    [B, 3],
  ]),
  'layers one after the other': ofRows((g, x, width) => {
    let value = x
    for (let layer = 0; layer < 2 + g.random.below(4); layer++) {
      value = g.add(['Relu', 'Tanh', 'Sigmoid'][g.random.below(3)]!, [
        g.add('MatMul', [value, g.weights(width, width)]),
      ])
    }
    return [value, [B, width]]
  }),
  'Softmax over the columns': ofRows((g, x, width) => [
    g.add('Softmax', [x], { axis: 1 }),
    [B, width],
  ]),
  'CumSum over the columns': ofRows((g, x, width) => [
    g.add('CumSum', [x, g.integer(1)]),
    [B, width],
  ]),
  'mean of the columns': ofRows((g, x) => [
    g.add('ReduceMean', [x], { axes: [1], keepdims: 0 }),
    [B],
  ]),
  'ArgMax of the columns': ofRows((g, x) => [
    g.add('Cast', [g.add('ArgMax', [x], { axis: 1, keepdims: 0 })], { to: 1 }),
    [B],
  ]),
  'TopK of the columns': ofRows((g, x) => [
    g.addAll('TopK', [x, g.integers(2)], { count: 2 })[0]!,
    [B, 2],
  ]),
  'some columns': ofRows((g, x) => [
    g.add('Slice', [x, g.integers(1), g.integers(3), g.integers(1)]),
    [B, 2],
  ]),
  'columns in another order': ofRows((g, x) => [
    g.add('Gather', [x, g.integers(3, 0, 1)], { axis: 1 }),
    [B, 3],
  ]),
  'padded columns': ofRows((g, x, width) => [
    g.add('Pad', [x, g.integers(0, 1, 0, 0)]),
    [B, width + 1],
  ]),
  'halves of the columns': ofRows((g, x, width) => {
    const [left, right] = g.addAll('Split', [x, g.integers(width / 2, width / 2)], {
      count: 2,
      attributes: { axis: 1 },
    })
    return [g.add('Concat', [right!, left!], { axis: 1 }), [B, width]]
  }),
  'turned and turned back': ofRows((g, x, width) => {
    const turned = g.add('Mul', [g.add('Transpose', [x], { perm: [1, 0] }), g.weights(width, 1)])
    return [g.add('Transpose', [turned], { perm: [1, 0] }), [B, width]]
  }),
  'a row of ones for each item': ofRows((g, x, width) => {
    const ones = g.add('ConstantOfShape', [g.add('Shape', [x])])
    return [g.add('Add', [x, ones]), [B, width]]
  }),
  'a learned row, expanded': ofRows((g, x, width) => {
    const row = g.add('Expand', [g.weights(1, width), g.add('Shape', [x])])
    return [g.add('Concat', [x, row], { axis: 1 }), [B, 2 * width]]
  }),
  'a choice of elements': ofRows((g, x, width) => [
    g.add('Where', [g.add('Greater', [x, g.number(0)]), x, g.weights(1, width)]),
    [B, width],
  ]),
  'rows cut in two': ofRows((g, x, width) => {
    const cut = g.add('Reshape', [x, g.integers(0, 2, width / 2)])
    return [g.add('Reshape', [g.add('Softmax', [cut]), g.integers(-1, width)]), [B, width]]
  }),
  'normalised rows': ofRows((g, x, width) => [
    g.add('LayerNormalization', [x, g.weights(width), g.weights(width)]),
    [B, width],
  ]),
  'steps as rows': ofSteps((g, x) => {
    const rows = g.add('MatMul', [g.add('Reshape', [x, g.integers(-1, 4)]), g.weights(4, 5)])
    return [g.add('Reshape', [rows, g.integers(-1, 3, 5)]), [B, 3, 5]]
  }),
  'steps before items, as rows': ofSteps((g, x) => {
    const turned = g.add('Transpose', [x], { perm: [1, 0, 2] })
    const rows = g.add('MatMul', [g.add('Reshape', [turned, g.integers(-1, 4)]), g.weights(4, 5)])
    return [
      g.add('Transpose', [g.add('Reshape', [rows, g.integers(3, -1, 5)])], { perm: [1, 0, 2] }),
      [B, 3, 5],
    ]
  }),
  'Einsum within each item': ofSteps((g, x) => [
    g.add('Einsum', [x, x], { equation: 'bij,bkj->bik' }),
    [B, 3, 3],
  ]),
  'LSTM after a turn': ofSteps((g, x) => {
    const [, last] = lstmOf(g, g.add('Transpose', [x], { perm: [1, 0, 2] }), 'LSTM')
    return [g.add('Squeeze', [last!, g.integers(0)]), [B, 5]]
  }),
  'LSTM over [seq, batch, n]': timeMajor('LSTM'),
  'GRU over [seq, batch, n]': timeMajor('GRU'),
  'RNN over [seq, batch, n]': timeMajor('RNN'),
  pictures,
  'attention with a mask': bert,
  'two towers': twoTower,
  'If on a flag': branchOnFlag,
  tokens,
  'places within each item': pickedWithin,
}
