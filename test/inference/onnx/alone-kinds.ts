import type { Random } from '../../../src/core/random.ts'
import { type GraphKind, ofRows, ofSteps } from './batched-kinds.ts'
import { randomFloats, randomIntegers, SmallGraph } from './graphs.ts'

const B = 'batch'

/** A kind whose requests must run alone, and what its status says. */
export interface AloneKind extends GraphKind {
  readonly why: RegExp
}

const because = (why: RegExp, kind: GraphKind): AloneKind => ({ ...kind, why })

const edges = (random: Random) => {
  const g = new SmallGraph(random)
  const picked = g.add('Gather', [g.input('x', ['nodes', 4]), g.input('src', ['edges'], 'int64')])
  g.output('y', g.add('MatMul', [picked, g.weights(4, 2)]), ['edges', 2])
  return {
    bytes: g.bytes(),
    request: (r: Random, rows: number) => [
      randomFloats(r, 'x', rows, 4),
      randomIntegers(r, { name: 'src', below: rows }, 1 + r.below(4)),
    ],
  }
}

/** A graph of one batch axis whose rows an input picks. */
const linked = (random: Random) => {
  const g = new SmallGraph(random)
  const picked = g.add('Gather', [g.input('x', [B, 4]), g.input('next', [B], 'int64')])
  g.output('y', picked, [B, 4])
  return {
    bytes: g.bytes(),
    request: (r: Random, rows: number) => [
      randomFloats(r, 'x', rows, 4),
      randomIntegers(r, { name: 'next', below: rows }, rows),
    ],
  }
}

/** Places above a limit: as many rows as there are. */
const detector = (rows: number | string) => (random: Random) => {
  const g = new SmallGraph(random)
  const hits = g.add('NonZero', [g.add('Greater', [g.input('x', [rows, 8]), g.number(0)])])
  g.output('boxes', g.add('Cast', [g.add('Transpose', [hits], { perm: [1, 0] })], { to: 1 }), [
    'num',
    2,
  ])
  return {
    bytes: g.bytes(),
    request: (r: Random, many: number) => [randomFloats(r, 'x', rows === 1 ? 1 : many, 8)],
  }
}

/** Boxes that do not overlap others: the first row of each triple is the picture. */
const suppression = (random: Random) => {
  const g = new SmallGraph(random)
  const limits = [g.integer(5), g.number(0.5), g.number(0.1)]
  const picked = g.add('NonMaxSuppression', [
    g.input('boxes', [B, 6, 4]),
    g.input('scores', [B, 1, 6]),
    ...limits.map((limit) => g.add('Reshape', [limit, g.integers(1)])),
  ])
  g.output('picked', g.add('Cast', [picked], { to: 1 }), ['num', 3])
  return {
    bytes: g.bytes(),
    request: (r: Random, rows: number) => [
      randomFloats(r, 'boxes', rows, 6, 4),
      randomFloats(r, 'scores', rows, 1, 6),
    ],
  }
}

const ifOnLargest = ofRows((g, x, width) => {
  const largest = g.add('ReduceMax', [x], { keepdims: 0 })
  const condition = g.add('Greater', [largest, g.number(2.5)])
  const branch = (operation: string) => g.branch((inner) => inner.add(operation, [x]), [B, width])
  return [
    g.add('If', [condition], { then_branch: branch('Neg'), else_branch: branch('Abs') }),
    [B, width],
  ]
})

const sequence = (random: Random) => {
  const g = new SmallGraph(random)
  const weights = [g.weights(1, 20, 4), g.weights(1, 20, 5)]
  const steps = g.add('LSTM', [g.input('x', ['seq', 1, 4]), ...weights], { hidden_size: 5 })
  g.output('y', g.add('Squeeze', [steps, g.integers(1)]), ['seq', 1, 5])
  return {
    bytes: g.bytes(),
    request: (r: Random, rows: number) => [randomFloats(r, 'x', rows, 1, 4)],
  }
}

const twoNames = (random: Random) => {
  const g = new SmallGraph(random)
  g.output('p', g.add('Neg', [g.input('a', ['left', 3])]), ['left', 3])
  g.output('q', g.add('Abs', [g.input('b', ['right', 3])]), ['right', 3])
  return {
    bytes: g.bytes(),
    request: (r: Random, rows: number) => [
      randomFloats(r, 'a', rows, 3),
      randomFloats(r, 'b', 1 + r.below(4), 3),
    ],
  }
}

/** The places of the largest elements, which are counted over the whole batch. */
const places = (random: Random) => {
  const g = new SmallGraph(random)
  const pool = { kernel_shape: [2, 2], strides: [2, 2] }
  const found = g.addAll('MaxPool', [g.input('x', [B, 1, 4, 4])], { count: 2, attributes: pool })
  g.output('y', g.add('Cast', [found[1]!], { to: 1 }), [B, 1, 2, 2])
  return {
    bytes: g.bytes(),
    request: (r: Random, rows: number) => [randomFloats(r, 'x', rows, 1, 4, 4)],
  }
}

/** Kinds whose rows depend on one another, or cannot be shown not to. */
export const ALONE_KINDS: Readonly<Record<string, AloneKind>> = {
  'Softmax over the rows': because(
    /^Softmax over axis 0$/,
    ofRows((g, x, width) => [g.add('Softmax', [x], { axis: 0 }), ['seq', width]], 'seq'),
  ),
  'listwise ranker': because(
    /^ReduceMean over axis 0$/,
    ofRows((g, x, width) => [
      g.add('Sub', [x, g.add('ReduceMean', [x], { axes: [0] })]),
      [B, width],
    ]),
  ),
  'CumSum over the rows': because(
    /^CumSum over axis 0$/,
    ofRows((g, x, width) => [g.add('CumSum', [x, g.integer(0)]), [B, width]]),
  ),
  'places of the largest elements': because(/^MaxPool gives places in the whole batch$/, {
    make: places,
  }),
  'LSTM over [seq, 1, n]': because(/^LSTM over axis 0$/, { make: sequence }),
  'graph of nodes and edges': because(/different names \("nodes" of x, "edges" of src\)$/, {
    make: edges,
  }),
  'rows that an input picks': because(/^Gather picks items by the items$/, { make: linked }),
  'If on the largest of the batch': because(/^ReduceMax over axis 0$/, ifOnLargest),
  'mean of the rows': because(
    /^ReduceMean over axis 0$/,
    ofRows((g, x, width) => [g.add('ReduceMean', [x], { axes: [0] }), [1, width]]),
  ),
  'sum of all': because(
    /^ReduceSum over axis 0$/,
    ofRows((g, x) => [g.add('ReduceSum', [x], { keepdims: 0 }), []]),
  ),
  'detector of one picture': because(/^no first axis of an input is free$/, { make: detector(1) }),
  'detector of a batch': because(/^NonZero over axis 0$/, { make: detector(B) }),
  'suppression of boxes': because(/^NonMaxSuppression is no operator/, { make: suppression }),
  'divided by the number of rows': because(
    /computes with the number of items$/,
    ofRows((g, x, width) => {
      const rows = g.add('Gather', [g.add('Shape', [x]), g.integer(0)])
      return [g.add('Div', [x, g.add('Cast', [rows], { to: 1 })]), [B, width]]
    }),
  ),
  'rows in reverse': because(
    /^Slice over axis 0$/,
    ofRows((g, x, width) => [
      g.add('Slice', [x, g.integers(-1), g.integers(-(2 ** 40)), g.integers(0), g.integers(-1)]),
      [B, width],
    ]),
  ),
  'a first row before the others': because(
    /^Concat over axis 0$/,
    ofRows((g, x, width) => [
      g.add('Concat', [g.weights(1, width), x], { axis: 0 }),
      ['rows', width],
    ]),
  ),
  'each row times each row': because(
    /^MatMul brings the items of two axes together$/,
    ofRows((g, x) => [g.add('MatMul', [x, g.add('Transpose', [x], { perm: [1, 0] })]), [B, B]]),
  ),
  'rows merged into one': because(
    /several rows for each item$/,
    ofRows((g, x) => [g.add('Reshape', [x, g.integers(1, -1)]), [1, 'all']]),
  ),
  'two rows for each': because(
    /^the output y has several rows for each item$/,
    ofRows((g, x, width) => [
      g.add('Reshape', [x, g.integers(-1, width / 2)]),
      ['rows', width / 2],
    ]),
  ),
  'rows in order of size': because(
    /^TopK over axis 0$/,
    ofRows((g, x) => [
      g.addAll('TopK', [x, g.integers(1)], { count: 2, attributes: { axis: 0 } })[0]!,
      [1, 'width'],
    ]),
  ),
  'columns times rows': because(
    /^Gemm over axis 1$/,
    ofRows((g, x, width) => [g.add('Gemm', [x, x], { transA: 1 }), [width, width]]),
  ),
  'quantised by the largest': because(
    /^DynamicQuantizeLinear is no operator/,
    ofRows((g, x, width) => {
      const [bytes, scale, zero] = g.addAll('DynamicQuantizeLinear', [x], { count: 3 })
      return [g.add('DequantizeLinear', [bytes!, scale!, zero!]), [B, width]]
    }),
  ),
  'the first row only': because(
    /^Gather over axis 0$/,
    ofRows((g, x, width) => [g.add('Gather', [x, g.integers(0)]), [1, width]]),
  ),
  'rows without duplicates': because(
    /^Unique is no operator/,
    ofRows((g, x) => [g.addAll('Unique', [x], { count: 1 })[0]!, ['num']]),
  ),
  'rows twice': because(
    /^Tile over axis 0$/,
    ofRows((g, x, width) => [g.add('Tile', [x, g.integers(2, 1)]), ['rows', width]]),
  ),
  'Squeeze without axes': because(
    /^Squeeze without axes$/,
    ofRows((g, x, width) => [g.add('Squeeze', [x]), ['any', width]]),
  ),
  'two batches': because(/different names \("left" of a, "right" of b\)$/, { make: twoNames }),
  'rows with their number': because(
    /^Range computes with the number of items$/,
    ofRows((g, x, width) => {
      const rows = g.add('Gather', [g.add('Shape', [x]), g.integer(0)])
      const numbers = g.add('Cast', [g.add('Range', [g.integer(0), rows, g.integer(1)])], { to: 1 })
      return [g.add('Add', [x, g.add('Unsqueeze', [numbers, g.integers(1)])]), [B, width]]
    }),
  ),
  'Softmax over steps that are the batch': because(
    /^Softmax over axis 0$/,
    ofSteps((g, x) => [g.add('Softmax', [x], { axis: 0 }), [B, 3, 4]]),
  ),
  'Einsum over the batch': because(
    /^Einsum over axis 0$/,
    ofSteps((g, x) => [g.add('Einsum', [x], { equation: 'bij->ij' }), [3, 4]]),
  ),
}
