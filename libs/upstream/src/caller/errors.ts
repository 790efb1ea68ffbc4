/** There is no statement about the caller, or one that does not count here: answer 401. */
export class InvalidCaller extends Error {
  override readonly name = 'InvalidCaller'
}

/** The public keys could not be fetched, so nothing can be said about the caller: answer 503. */
export class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable'
}
