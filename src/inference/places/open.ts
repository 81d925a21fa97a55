import { assertNever } from '../../core/errors.ts'
import type { PlaceAddress } from './address.ts'
import { HuggingFacePlace } from './hugging-face.ts'
import { MlflowPlace } from './mlflow.ts'
import { OciPlace } from './oci.ts'
import type { ModelPlace } from './port.ts'
import { type S3Options, S3Place } from './s3.ts'

/** The place of an address. Throws INVALID_ARGUMENT when a variable of the environment is wrong or missing. */
export function openPlace(address: PlaceAddress, options: S3Options): ModelPlace {
  switch (address.kind) {
    case 's3':
      return new S3Place(address, options)
    case 'hf':
      return new HuggingFacePlace(address, options)
    case 'mlflow':
      return new MlflowPlace(address, options)
    case 'oci':
      return new OciPlace(address, options)
    default:
      return assertNever(address)
  }
}
