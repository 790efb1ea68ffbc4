export { createKeyring, rotateKeys, type KeySet, type SigningKeyring } from './keys.ts'
export { keyCacheMs, keyRetirementMs } from './policy.ts'
