/** The id under which the mean rows are served, for users and items never seen in training. None of them may have it. */
export const MEAN_ID = 'MEAN'

/** Whether an id is that of the mean rows. Most ids are recognised as others by their length alone. */
export function isMeanId(id: string): boolean {
  return id.length === MEAN_ID.length && id === MEAN_ID
}

/** Why the id of the mean rows is refused, and what to do: the end of a message. */
export const MEAN_ID_IS_TAKEN = `"${MEAN_ID}" is the id of the mean rows; give this user or item another id`
