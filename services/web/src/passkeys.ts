/** Pages without TLS, but for those of this machine, have no passkeys. */
export const canUsePasskeys = (): boolean => typeof PublicKeyCredential === 'function'

/** Not before a page asks for a passkey: the login page stays light. */
export const loadPasskeys = () => import('./passkey-requests.ts')

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
