import { createCipheriv, createDecipheriv, scryptSync } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { isDiskFull, systemRandom } from '@gatehouse/runtime'
import { z } from 'zod'
import { cannotRead, CommandFailure } from '../failure.ts'
import { finishFile, removeUnfinishedBeside, requireFilePath, unfinishedName } from '../unfinished.ts'

const secret = z.string().min(32)
const keptSecrets = z.object({ jwtSecret: secret, internalSecret: secret, encryptionSecret: secret })
export type KeptSecrets = z.infer<typeof keptSecrets>

/** One guess costs 128 MiB and some hundred milliseconds. */
const scryptCost = { N: 2 ** 17, r: 8, p: 1, maxmem: 256 * 1024 * 1024 }
const base64 = z.string()
const format = z.literal('gatehouse-secrets')
const sealedSecrets = z.object({ format, salt: base64, nonce: base64, tag: base64, sealed: base64 })

/** Only the owner can read the file. A passphrase encrypts it (AES-256-GCM, scrypt). Throws CommandFailure. */
export async function writeSecrets(file: string, secrets: KeptSecrets, passphrase: string | null): Promise<void> {
  const plain = JSON.stringify(secrets)
  const content = passphrase === null ? plain : JSON.stringify(seal(plain, passphrase))
  const unfinished = unfinishedName(file)
  await requireFilePath(file)
  await removeUnfinishedBeside(file)
  try {
    await writeFile(unfinished, `${content}\n`, { mode: 0o600, flush: true })
    await finishFile(unfinished, file)
  } catch (cause) {
    await rm(unfinished, { force: true })
    if (cause instanceof CommandFailure) throw cause
    const reason = isDiskFull(cause) ? 'the disk is full' : (cause as Error).message
    throw new CommandFailure(isDiskFull(cause) ? 'failed' : 'usage', `cannot write ${file}: ${reason}`, cause)
  }
}

/** Throws CommandFailure. */
export async function readSecrets(file: string, passphrase: string | null): Promise<KeptSecrets> {
  const read = readFile(file, 'utf8').then((text) => JSON.parse(text) as unknown)
  const stored = await read.catch(cannotRead(`the secrets in ${file}`))
  const sealed = sealedSecrets.safeParse(stored)
  if (sealed.success && passphrase === null)
    throw new CommandFailure('usage', `${file} is encrypted: name its passphrase with --passphrase-file`)
  const parsed = keptSecrets.safeParse(sealed.success ? unseal(file, sealed.data, passphrase ?? '') : stored)
  if (!parsed.success) throw new CommandFailure('refused', `${file} holds no secrets of an instance`)
  return parsed.data
}

function seal(text: string, passphrase: string): z.infer<typeof sealedSecrets> {
  const [salt, nonce] = [Buffer.from(systemRandom.bytes(16)), Buffer.from(systemRandom.bytes(12))]
  const cipher = createCipheriv('aes-256-gcm', scryptSync(passphrase, salt, 32, scryptCost), nonce)
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  const encode = (bytes: Buffer) => bytes.toString('base64')
  return {
    format: 'gatehouse-secrets',
    salt: encode(salt),
    nonce: encode(nonce),
    tag: encode(cipher.getAuthTag()),
    sealed: encode(sealed),
  }
}

function unseal(file: string, stored: z.infer<typeof sealedSecrets>, passphrase: string): unknown {
  const decode = (text: string) => Buffer.from(text, 'base64')
  try {
    const key = scryptSync(passphrase, decode(stored.salt), 32, scryptCost)
    const decipher = createDecipheriv('aes-256-gcm', key, decode(stored.nonce), { authTagLength: 16 })
    decipher.setAuthTag(decode(stored.tag))
    return JSON.parse(Buffer.concat([decipher.update(decode(stored.sealed)), decipher.final()]).toString('utf8'))
  } catch (cause) {
    throw new CommandFailure('refused', `the passphrase does not open ${file}, or it is damaged`, cause)
  }
}
