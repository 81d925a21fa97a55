import { expect, it } from 'vitest'
import { buildValidator, VALIDATION } from '../../src/http/validation.ts'

/** A validator of bodies, as Fastify makes one. */
function validatorOf(schema: object) {
  const build = buildValidator({} as never, { customOptions: { verbose: true } } as never)
  return build({ httpPart: 'body', schema, method: 'POST', url: '/' } as never)
}

/** Bytes that show when someone asks for each of them. */
const BYTES = new Proxy(new Uint8Array(8), {
  ownKeys: () => {
    throw new Error('each byte is looked at')
  },
})

it.each<[string, object]>([
  ['fields', { type: 'object', properties: { a: {} }, additionalProperties: false }],
  ['elements', { type: 'array', items: {} }],
  ['one of several forms', { oneOf: [{ type: 'object', additionalProperties: false }] }],
])('bytes are refused, without a look at each, where a body has %s', (_, schema) => {
  const validate = validatorOf(schema)
  expect(validate(BYTES)).toBe(false)
  const [error] = (validate as { readonly errors?: readonly object[] }).errors ?? []
  expect(error).toMatchObject({ message: 'must be JSON' })
})

it('bytes are taken where a route reads them itself', () => {
  expect(validatorOf({})(new Uint8Array(8))).toBe(true)
})

it('an error about a field makes no text of the whole body', () => {
  const data = {
    toJSON: () => {
      throw new Error('the body is made a text')
    },
  }
  const error = { keyword: 'additionalProperties', instancePath: '', data }
  const errors = [{ ...error, params: { additionalProperty: 'x' } }]
  const { message } = VALIDATION.schemaErrorFormatter!(errors as never, 'body')
  expect(message).toContain('"x"')
})
