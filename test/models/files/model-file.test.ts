import { describe, expect, it } from 'vitest'
import { ModelFileDecoder, ModelFileEncoder } from '../../../src/models/files/model-file.ts'

const HEADER = { dimension: 2, rows: 2 }

function encoded(): Uint8Array {
  const encoder = new ModelFileEncoder(HEADER)
  return Buffer.concat([
    encoder.header(HEADER),
    encoder.row({ key: '1-U', vector: Float32Array.of(1, -0.5), ratings: 258 }),
    encoder.row({ key: '7-W', vector: Float32Array.of(0, 2), memory: Float32Array.of(1, -2) }),
    encoder.end(),
  ])
}

describe('a model file', () => {
  it('has the bytes that the format comment shows', () => {
    expect(Buffer.from(encoded()).toString('hex')).toBe(
      `${Buffer.from('WEIRMDL3').toString('hex')}18000000` +
        Buffer.from('{"dimension":2,"rows":2}').toString('hex') +
        '0300312d550000803f000000bf0201000000000000' +
        '0300372d570000000000000040ffffffff020000000000803f000000c0' +
        Buffer.from(encoded().subarray(-4)).toString('hex'),
    )
  })

  it('of the first version is read, without ratings', () => {
    const bytes = Buffer.from(
      `${Buffer.from('WEIRMDL1').toString('hex')}18000000` +
        Buffer.from('{"dimension":2,"rows":2}').toString('hex') +
        '0300312d550000803f000000bf' +
        '0300372d490000000000000040' +
        '25afcefb',
      'hex',
    )
    const decoder = new ModelFileDecoder()
    expect(decoder.push(bytes)).toEqual([
      { key: '1-U', vector: Float32Array.of(1, -0.5) },
      { key: '7-I', vector: Float32Array.of(0, 2) },
    ])
    decoder.end()
  })

  it('of the second version is read, without what learning keeps', () => {
    const bytes = Buffer.from(
      `${Buffer.from('WEIRMDL2').toString('hex')}18000000` +
        Buffer.from('{"dimension":2,"rows":1}').toString('hex') +
        '0300312d550000803f000000bf02010000',
      'hex',
    )
    const decoder = new ModelFileDecoder()
    expect(decoder.push(bytes)).toEqual([
      { key: '1-U', vector: Float32Array.of(1, -0.5), ratings: 258 },
    ])
  })

  it('is read from pieces of any size', () => {
    const bytes = encoded()
    for (let size = 1; size <= bytes.length; size++) {
      const decoder = new ModelFileDecoder()
      const rows = []
      for (let at = 0; at < bytes.length; at += size) {
        rows.push(...decoder.push(bytes.subarray(at, at + size)))
      }
      decoder.end()
      expect(decoder.header).toEqual(HEADER)
      expect(rows).toEqual([
        { key: '1-U', vector: Float32Array.of(1, -0.5), ratings: 258 },
        { key: '7-W', vector: Float32Array.of(0, 2), memory: Float32Array.of(1, -2) },
      ])
    }
  })

  it('is refused with a changed byte, truncated, or of another format', () => {
    for (let at = 60; at < encoded().length; at++) {
      const bytes = encoded()
      bytes[at] = bytes[at]! ^ 0x10
      expect(() => {
        const decoder = new ModelFileDecoder()
        decoder.push(bytes)
        decoder.end()
      }).toThrow()
    }
    const cut = new ModelFileDecoder()
    cut.push(encoded().subarray(0, -3))
    expect(() => cut.end()).toThrow('truncated')
    expect(() => new ModelFileDecoder().push(new Uint8Array(100))).toThrow('no model file')
    const newer = encoded()
    newer[7] = 0x34
    expect(() => new ModelFileDecoder().push(newer)).toThrow('newer format')
  })
})
