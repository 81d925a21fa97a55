import { modelPlaceContract } from '../../../contracts/model-place.ts'
import { PLACE_KINDS } from '../../../services/model-places/places.ts'

for (const [name, kind] of Object.entries(PLACE_KINDS)) modelPlaceContract(name, kind)
