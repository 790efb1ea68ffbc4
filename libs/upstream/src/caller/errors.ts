/** No statement that counts here: answer 401. */
export class InvalidCaller extends Error {
  override readonly name = 'InvalidCaller'
}

/** The public keys could not be fetched: answer 503. */
export class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable'
}
