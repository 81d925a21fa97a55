import {
  bytesSerializer,
  float32VectorSerializer,
  float64Serializer,
  int53Serializer,
  type Serializer,
  stringSerializer,
} from '../serializer.ts'
import { msgpackSerializer } from './msgpack-serializer.ts'

const BUILT_IN = new Map<string, Serializer<unknown>>(
  [
    msgpackSerializer<unknown>(),
    stringSerializer,
    float64Serializer,
    int53Serializer,
    bytesSerializer,
    float32VectorSerializer,
  ].map((one) => [one.id, one as Serializer<unknown>]),
)

/** The serializer that each client and server has under an id; undefined for those of a job. */
export function builtIn(id: string): Serializer<unknown> | undefined {
  return BUILT_IN.get(id)
}
