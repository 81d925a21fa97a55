import { describe, expect, it } from 'vitest'
import { parsePlace } from '../../../src/inference/places/address.ts'

describe('the address of a place', () => {
  it.each([
    ['s3://bucket', { kind: 's3', bucket: 'bucket', key: '' }],
    ['s3://my.bucket/nets/v 1/', { kind: 's3', bucket: 'my.bucket', key: 'nets/v 1/' }],
    ['s3://bucket/net.onnx', { kind: 's3', bucket: 'bucket', key: 'net.onnx' }],
    ['hf://owner/net', { kind: 'hf', repository: 'owner/net', revision: undefined, path: '' }],
    [
      'hf://o/n-1.5@v1.0/onnx/',
      { kind: 'hf', repository: 'o/n-1.5', revision: 'v1.0', path: 'onnx' },
    ],
    ['hf://o/n@refs%2Fpr%2F1', { kind: 'hf', repository: 'o/n', revision: 'refs/pr/1', path: '' }],
    [
      'mlflow:models:/net/3',
      { kind: 'mlflow', model: 'net', version: { kind: 'number', text: '3' } },
    ],
    [
      'mlflow:models:/net/Staging',
      { kind: 'mlflow', model: 'net', version: { kind: 'stage', text: 'Staging' } },
    ],
    [
      'mlflow:models:/net@best',
      { kind: 'mlflow', model: 'net', version: { kind: 'alias', text: 'best' } },
    ],
    [
      'oci://ghcr.io/a/b:v1',
      { kind: 'oci', registry: 'ghcr.io', repository: 'a/b', reference: 'v1' },
    ],
    [
      `oci://localhost:5000/b@sha256:${'a'.repeat(64)}`,
      {
        kind: 'oci',
        registry: 'localhost:5000',
        repository: 'b',
        reference: `sha256:${'a'.repeat(64)}`,
      },
    ],
  ])('is read: %s', (text, place) => {
    expect(parsePlace(text)).toEqual(place)
  })

  it.each(['net.onnx', '/srv/net.onnx', './a:b', 'C:\\nets\\net.onnx', 'file:///net.onnx', ''])(
    'is none for a path of this machine: %s',
    (text) => expect(parsePlace(text)).toBeUndefined(),
  )

  it.each([
    's3:bucket/net.onnx',
    's3:///net.onnx',
    's3://B/net.onnx',
    's3://bucket/../other/net.onnx',
    's3://bucket//net.onnx',
    'hf://owner',
    'hf://owner/net@',
    'hf://datasets/owner/net',
    'hf://owner/net/../other',
    'hf://owner/net\u0000',
    'mlflow:net/3',
    'mlflow:models:/net',
    'mlflow:models:/a/b/c',
    'oci://ghcr.io/a/b',
    'oci://ghcr.io/a/b@sha256:12',
    'oci://user:secret@ghcr.io/a:v1',
  ])('is refused with the form that is right: %s', (text) => {
    expect(() => parsePlace(text)).toThrow(/is no place; write (s3|hf|mlflow|oci):/)
  })

  it.each([
    ['gs://bucket/net.onnx', 'no model can be pushed from'],
    ['hft://owner/net', 'did you mean hf?'],
    ['https://example.org/net.onnx', 'push a file or folder of this machine'],
  ])('is refused with what there is: %s', (text, message) => {
    expect(() => parsePlace(text)).toThrow(message)
  })
})
