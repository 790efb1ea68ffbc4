import { randomUUID } from 'node:crypto'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findProgram, readFirstBytes, startConfiguredServer, type LocalServer } from '@gatehouse/local-servers'

type Wiki = { issuer: string; clientId: string; clientSecret: string; port: number }

const modules = ['mpm_event', 'authn_core', 'authz_core', 'authz_user', 'dir', 'headers']

/** Apache with a page in `/wiki/` for users of an OpenID Connect provider, who log in by its mod_auth_openidc. */
export function startProtectedWiki({ issuer, clientId, clientSecret, port }: Wiki): Promise<LocalServer> {
  const openidc = findProgram('libapache2-mod-auth-openidc')
  return startConfiguredServer({
    program: 'apache2',
    port,
    config: (own, folder) => {
      // Its workers are another user.
      chmodSync(folder, 0o755)
      const pages = join(folder, 'pages/wiki')
      mkdirSync(pages, { recursive: true })
      writeFileSync(join(pages, 'index.html'), 'The wiki')
      const wiki = `http://127.0.0.1:${own}/wiki`
      return `
ServerName 127.0.0.1
ServerRoot ${folder}
PidFile ${folder}/apache.pid
DefaultRuntimeDir ${folder}
ErrorLog /dev/stderr
LogLevel warn
Listen 127.0.0.1:${own}
User www-data
Group www-data
${modules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`).join('\n')}
LoadModule auth_openidc_module ${openidc}
DocumentRoot ${folder}/pages
DirectoryIndex index.html
OIDCProviderMetadataURL ${issuer}/.well-known/openid-configuration
OIDCClientID ${clientId}
OIDCClientSecret ${clientSecret}
OIDCRedirectURI ${wiki}/callback
OIDCCryptoPassphrase ${randomUUID()}
OIDCScope "openid profile"
OIDCPKCEMethod S256
OIDCRemoteUserClaim preferred_username
OIDCSessionType server-cache
<Location /wiki>
  AuthType openid-connect
  Require valid-user
  # Also for requests that say they are no navigation, as fetch does.
  OIDCUnAuthAction auth true
  Header set X-Wiki-User "expr=%{REMOTE_USER}"
</Location>
`
    },
    // One process: the end of a parent would leave its workers.
    args: (_port, _folder, configFile) => ['-X', '-f', configFile],
    url: (own) => `http://127.0.0.1:${own}/wiki/`,
    isReady: async (own) => (await readFirstBytes(own, 'GET / HTTP/1.0\r\n\r\n')) !== '',
  })
}
