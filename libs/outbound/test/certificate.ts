import { X509Certificate, generateKeyPairSync, sign } from 'node:crypto'

const ECDSA_WITH_SHA256 = Buffer.from('300a06082a8648ce3d040302', 'hex')
const COMMON_NAME = Buffer.from('0603550403', 'hex')
const SUBJECT_ALT_NAME = Buffer.from('0603551d11', 'hex')

/** A self-signed certificate for one host name, valid from 2020 to 2049, and its key; both PEM. */
export function buildCertificate(host: string): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from(host)))))
  const validity = sequence(der(0x17, Buffer.from('200101000000Z')), der(0x17, Buffer.from('491231235959Z')))
  const hostNames = sequence(SUBJECT_ALT_NAME, der(0x04, sequence(der(0x82, Buffer.from(host)))))
  const version = der(0xa0, der(0x02, Buffer.from([2])))
  const serial = der(0x02, Buffer.from([1]))
  const publicKeyInfo = publicKey.export({ type: 'spki', format: 'der' })
  const extensions = der(0xa3, sequence(hostNames))
  const statement = sequence(version, serial, ECDSA_WITH_SHA256, name, validity, name, publicKeyInfo, extensions)
  const signature = der(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', statement, privateKey)]))
  const certificate = new X509Certificate(sequence(statement, ECDSA_WITH_SHA256, signature))
  return { key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), cert: certificate.toString() }
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts))
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content
  const head = length < 128 ? [tag, length] : [tag, 0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from(head), content])
}
