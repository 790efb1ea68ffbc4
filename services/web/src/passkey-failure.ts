/** `exists`: the device has one of this account. `other_address`: they belong to `host` alone. `none`: also where the person gives up. */
export class PasskeyFailure extends Error {
  readonly reason: 'exists' | 'other_address' | 'none'
  readonly host: string

  constructor(reason: PasskeyFailure['reason'], host = '', options?: ErrorOptions) {
    super(`the browser gave no passkey: ${reason}`, options)
    this.reason = reason
    this.host = host
  }
}
