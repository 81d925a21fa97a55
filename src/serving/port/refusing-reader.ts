import type { ModelReader } from '../../wire/model-reader.ts'

/** Reader of a port without state: every call rejects with the error that `refusal` makes. */
export function refusingReader(refusal: () => Error): ModelReader {
  const refuse = async (): Promise<never> => {
    throw refusal()
  }
  return {
    rows: refuse,
    values: refuse,
    scan: refuse,
    predict: refuse,
    predictWithEnvelope: refuse,
    sparseDot: refuse,
    topK: refuse,
  }
}
