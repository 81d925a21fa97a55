import { describe, expect, it } from 'vitest'
import { chooseFiles, requireTrusted, weightFiles } from '../../../src/inference/places/choice.ts'

const file = (path: string) => ({ path, bytes: 1, identity: path })
const filesOf = (...paths: string[]) => paths.map(file)

function chosen(paths: readonly string[], settings: { file?: string; trustsCode?: boolean } = {}) {
  const { model, companions, leftOut } = chooseFiles(filesOf(...paths), {
    file: settings.file,
    trustsCode: settings.trustsCode ?? false,
  })
  return {
    model: [model.file.path, model.to],
    companions: companions.map(({ file: { path }, to }) => [path, to]),
    leftOut,
  }
}

describe('the files of a version from a place', () => {
  it('are the only ONNX file and what belongs to it, without other weights, code and hidden files', () => {
    const paths = ['.gitattributes', 'README.md', 'config.json', 'model.safetensors', 'net.onnx']
    expect(
      chosen([...paths, 'run.py', 'pytorch_model.bin', 'sub/vocab.txt', 'model.json']),
    ).toEqual({
      model: ['net.onnx', 'model.onnx'],
      companions: [
        ['README.md', 'README.md'],
        ['config.json', 'config.json'],
        ['sub/vocab.txt', 'sub/vocab.txt'],
      ],
      leftOut: ['.gitattributes', 'model.safetensors', 'run.py', 'pytorch_model.bin', 'model.json'],
    })
  })

  it('stand beside the model where they are in its folder, before those of other folders', () => {
    const paths = ['onnx/model.onnx', 'onnx/config.json', 'config.json', 'tokenizer.json']
    expect(chosen(paths)).toEqual({
      model: ['onnx/model.onnx', 'model.onnx'],
      companions: [
        ['onnx/config.json', 'config.json'],
        ['tokenizer.json', 'tokenizer.json'],
      ],
      leftOut: ['config.json'],
    })
  })

  it('are refused where several models are there and none is named, with their names', () => {
    const paths = ['onnx/model.onnx', 'onnx/model_quantized.onnx']
    expect(() => chosen(paths)).toThrow(
      'has 2 ONNX files; name one with --file: onnx/model.onnx, onnx/model_quantized.onnx',
    )
    expect(chosen(paths, { file: 'onnx/model_quantized.onnx' })).toMatchObject({
      model: ['onnx/model_quantized.onnx', 'model.onnx'],
      leftOut: ['onnx/model.onnx'],
    })
    expect(() => chosen(paths, { file: 'model.onnx' })).toThrow(
      'no file "model.onnx"; it has onnx/',
    )
  })

  it('are refused without an ONNX file, with the way to one', () => {
    expect(() => chosen(['README.md', 'model.safetensors'])).toThrow(
      'no ONNX file, but model.safetensors for PyTorch; export it to ONNX',
    )
    expect(() => chosen(['README.md', 'a.txt'])).toThrow(
      'name a module with --file and --trust-code',
    )
  })

  it.each(['../net.onnx', '/etc/net.onnx', 'a/../../net.onnx', 'a\\net.onnx', 'a\u0000.onnx', ''])(
    'are all refused where one would leave its folder: %j',
    (path) =>
      expect(() => chosen(['net.onnx', path])).toThrow('leads out of a folder; nothing was taken'),
  )

  it('are no code, and no file that names another server, unless it is trusted', () => {
    for (const path of ['model.js', 'net.mjs', 'net.ts', 'model.json']) {
      expect(() => requireTrusted(file(path), false)).toThrow('push it again with --trust-code')
      requireTrusted(file(path), true)
    }
    expect(() => requireTrusted(file('net.pkl'), true)).toThrow('has weights for Python; export it')
    expect(() => requireTrusted(file('net.txt'), true)).toThrow('net.txt is no model')
    const paths = ['net.mjs', 'part.mjs', 'words.txt']
    expect(chosen(paths, { file: 'net.mjs', trustsCode: true }).companions.flat()).toContain(
      'part.mjs',
    )
    expect(chosen(['net.onnx', ...paths]).leftOut).toEqual(['net.mjs', 'part.mjs'])
  })

  it('have the weights that the model names, whatever their ending, or are refused', () => {
    const files = filesOf('onnx/a.onnx', 'onnx/w.bin', 'w2.bin')
    expect(weightFiles(files, files[0]!, new Set(['w.bin']))).toEqual([
      { file: files[1], to: 'w.bin' },
    ])
    for (const missing of ['w2.bin', '../w2.bin']) {
      expect(() => weightFiles(files, files[0]!, new Set([missing]))).toThrow('does not have there')
    }
  })
})
