/** Pages without TLS, but for those of this machine, have no passkeys. */
export const canUsePasskeys = (): boolean => typeof PublicKeyCredential === 'function'

/** Not before a page asks for a passkey: the login page stays light. */
export const loadPasskeys = () => import('./passkey-requests.ts')
