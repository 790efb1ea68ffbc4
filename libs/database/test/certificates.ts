import forge from 'node-forge'

const day = 24 * 60 * 60 * 1000

export type Pem = { cert: string; key: string }
/** Names of a server; what is no address is a name of the DNS. */
type Signed = { names: string[]; validDays?: number }

/** A certificate authority for one test, which signs certificates of servers. */
export function createAuthority(name: string) {
  const subject = [{ name: 'commonName', value: name }]
  const keys = forge.pki.rsa.generateKeyPair(2048)
  let serial = 0

  function create(own: forge.pki.rsa.KeyPair, commonName: string, validDays: number, extensions: object[]): Pem {
    const certificate = forge.pki.createCertificate()
    certificate.publicKey = own.publicKey
    certificate.serialNumber = String((serial += 1)).padStart(2, '0')
    certificate.validity.notBefore = new Date(Date.now() - 10 * day)
    certificate.validity.notAfter = new Date(Date.now() + validDays * day)
    certificate.setSubject([{ name: 'commonName', value: commonName }])
    certificate.setIssuer(subject)
    certificate.setExtensions(extensions)
    certificate.sign(keys.privateKey, forge.md.sha256.create())
    return { cert: forge.pki.certificateToPem(certificate), key: forge.pki.privateKeyToPem(own.privateKey) }
  }

  return {
    ...create(keys, name, 30, [{ name: 'basicConstraints', cA: true }]),
    sign({ names, validDays = 10 }: Signed): Pem {
      const altNames = names.map((text) => (/^[\d.]+$/.test(text) ? { type: 7, ip: text } : { type: 2, value: text }))
      return create(forge.pki.rsa.generateKeyPair(2048), 'server', validDays, [{ name: 'subjectAltName', altNames }])
    },
  }
}
