import { describe, expect, it } from 'vitest'
import { encodeOnnxModel } from '../../../src/training/gpu/onnx-encoder.ts'
import { OnnxGraphBuilder } from '../../../src/training/gpu/onnx-graph.ts'

describe('an encoded ONNX model', () => {
  it('has the bytes of onnx.proto', () => {
    const model = encodeOnnxModel({
      inputs: [{ name: 'x', type: 'float32', shape: ['n', 300] }],
      outputs: [],
      constants: [{ name: 'c', shape: [1], values: Float32Array.of(1) }],
      nodes: [{ operation: 'Neg', inputs: ['x'], outputs: ['y'], attributes: { axis: -1 } }],
    })
    const fields = [
      ['ir_version 8, producer "weir"', '0808', '120477656972'],
      ['graph of 80 bytes', '3a50'],
      ['node: input x, output y, op_type Neg', '0a21', '0a0178', '120179', '22034e6567'],
      [
        'attribute axis = -1, of type INT',
        '2a14',
        '0a0461786973',
        '18ffffffffffffffffff01',
        'a00102',
      ],
      ['name "graph"', '12056772617068'],
      [
        'initializer: dims 1, FLOAT, name c, raw data 1.0',
        '2a0d',
        '0801',
        '1001',
        '420163',
        '4a040000803f',
      ],
      [
        'input x: FLOAT [n, 300]',
        '5a15',
        '0a0178',
        '1210',
        '0a0e',
        '0801',
        '120a',
        '0a0312016e',
        '0a0308ac02',
      ],
      ['operator set 17', '42021011'],
    ]
    expect(Buffer.from(model).toString('hex')).toBe(fields.flatMap(([, ...hex]) => hex).join(''))
  })
})

describe('a graph builder', () => {
  it('names values by number and gives outputs their names', () => {
    const graph = new OnnxGraphBuilder()
    const x = graph.input('x', ['n'])
    graph.output('sum', graph.add('Add', [x, graph.constant([1], [2])]), { shape: ['n'] })
    const text = Buffer.from(graph.build()).toString('latin1')
    for (const name of ['Add', 'Identity', 'v0', 'c0', 'sum']) expect(text).toContain(name)
  })
})
