import { expect } from 'chai'
import { createElement } from 'react'
import { renderToString } from 'react-dom/server'
import { buildReady, buildUser } from '../../test/builders.ts'
import { buildClient } from '../../test/harness.ts'
import { ClientProvider, useLive, usePresence, useSession } from './index.ts'

function Someone() {
  return createElement('p', null, [useSession().user?.username, useLive().phase, usePresence('1')].join(' '))
}

describe('the hooks for React', () => {
  it('render nobody on a server, whoever is signed in', () => {
    const { client, sockets } = buildClient()
    client.session.initSession('t', buildUser())
    sockets.last().serverSends(buildReady({ presences: { '1': 'online' } }))

    const html = renderToString(createElement(ClientProvider, { client }, createElement(Someone)))

    expect(client.live.getSnapshot().phase).to.equal('ready')
    expect(html).to.equal('<p> off offline</p>')
  })

  it('need a client', () => {
    expect(() => renderToString(createElement(Someone))).to.throw('useClient must be used inside a ClientProvider')
  })
})
