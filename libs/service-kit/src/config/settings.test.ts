import { expect } from 'chai'
import { ConfigurationError } from './configuration.ts'
import { publicAddress } from './settings.ts'

describe('The public address', () => {
  const addressOf = (settings: { PUBLIC_ORIGIN?: string; DOMAIN?: string }) =>
    publicAddress({ PORT: 8080, ...settings })
  const faultOf = (settings: Parameters<typeof addressOf>[0]) => {
    try {
      return addressOf(settings)
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error
      return error.message
    }
  }

  it('takes DOMAIN from PUBLIC_ORIGIN, and PUBLIC_ORIGIN from DOMAIN', () => {
    const chat = { origin: 'https://chat.example', domain: 'chat.example' }
    expect(addressOf({ PUBLIC_ORIGIN: 'https://Chat.example/' })).to.deep.equal(chat)
    expect(addressOf({ DOMAIN: 'Chat.example' })).to.deep.equal(chat)
    expect(addressOf({ PUBLIC_ORIGIN: 'https://chat.example:8443', DOMAIN: 'chat.example' })).to.deep.equal({
      origin: 'https://chat.example:8443',
      domain: 'chat.example',
    })
    expect(addressOf({})).to.deep.equal({ origin: 'http://localhost:8080', domain: 'localhost' })
  })

  /** Contract: 8, Identity of the instance. */
  it('Contract 8: refuses a DOMAIN that is not the host of PUBLIC_ORIGIN, in one line', () => {
    const fault = faultOf({ PUBLIC_ORIGIN: 'https://chat.example', DOMAIN: 'example' })

    expect(fault).to.equal('DOMAIN: must be the host of PUBLIC_ORIGIN, chat.example; leave it out or change it')
    expect(faultOf({ PUBLIC_ORIGIN: 'https://chat.example', DOMAIN: 'chat.example:8443' })).to.match(/^DOMAIN: [^\n]+$/)
  })
})
