import { expect } from 'chai'
import { describeUserAgent } from './describe-user-agent.ts'

describe('describeUserAgent', () => {
  it('names browser and system, also of browsers that claim to be others', () => {
    const chrome =
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'
    expect(describeUserAgent(chrome)).to.equal('Chrome · Linux')
    expect(describeUserAgent(`${chrome} Edg/140.0`)).to.equal('Edge · Linux')
    const phone =
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605 Version/18.0 Mobile/15E Safari/604.1'
    expect(describeUserAgent(phone)).to.equal('Safari · iOS')
    expect(describeUserAgent('Mozilla/5.0 (Android 15; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0')).to.equal(
      'Firefox · Android',
    )
  })

  it('names nothing that it does not know', () => {
    expect(describeUserAgent('gatehouse-bot/1.0')).to.equal(null)
    expect(describeUserAgent('')).to.equal(null)
  })
})
