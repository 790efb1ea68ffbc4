{{/* Adds labels to every `matchLabels` below a value, as Kustomize does with those of a base. */}}
{{- define "gatehouse.select" -}}
{{- $labels := .labels -}}
{{- if kindIs "map" .value -}}
{{- range $key, $value := .value -}}
{{- if eq $key "matchLabels" -}}
{{- if hasKey $value "app.kubernetes.io/component" }}{{ $_ := merge $value $labels }}{{ end -}}
{{- end -}}
{{- include "gatehouse.select" (dict "value" $value "labels" $labels) -}}
{{- end -}}
{{- else if kindIs "slice" .value -}}
{{- range .value }}{{ include "gatehouse.select" (dict "value" . "labels" $labels) }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* What values say about the pods of a service or a job. */}}
{{- define "gatehouse.pod" -}}
{{- $values := .root.Values -}}
{{- $template := .template -}}
{{- $service := index $values.services .name | default dict -}}
{{- $_ := set $template.metadata "annotations" (dict "checksum/settings" .checksum) -}}
{{- $_ := merge $template.metadata.labels .labels -}}
{{- with $values.image.pullSecrets -}}
{{- $names := list -}}
{{- range . }}{{ $names = append $names (dict "name" .) }}{{ end -}}
{{- $_ := set $template.spec "imagePullSecrets" $names -}}
{{- end -}}
{{- $repository := required "image.repository is required: where the image of the release is" $values.image.repository -}}
{{- $image := printf "%s:%s" $repository ($values.image.tag | default .root.Chart.AppVersion) -}}
{{- with $values.image.digest }}{{ $image = printf "%s@%s" $repository . }}{{ end -}}
{{- $secrets := dict "gatehouse" $values.secrets.name "gatehouse-tls" $values.secrets.tls -}}
{{- range $container := $template.spec.containers -}}
{{- if eq $container.image "gatehouse" -}}
{{- $_ := set $container "image" $image -}}
{{- $_ := set $container "imagePullPolicy" $values.image.pullPolicy -}}
{{- end -}}
{{- with $service.resources }}{{ $_ := set $container "resources" . }}{{ end -}}
{{- range $variable := $container.env -}}
{{- $reference := dig "valueFrom" "secretKeyRef" dict $variable -}}
{{- if hasKey $secrets ($reference.name | default "") }}{{ $_ := set $reference "name" (get $secrets $reference.name) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- range $volume := $template.spec.volumes -}}
{{- $claim := $volume.persistentVolumeClaim -}}
{{- if and $claim $values.uploads.existingClaim }}{{ $_ := set $claim "claimName" $values.uploads.existingClaim }}{{ end -}}
{{- if and $claim (not $values.uploads.volume) -}}
{{- $_ := set $volume "emptyDir" (dict "sizeLimit" "256Mi") -}}
{{- $_ := unset $volume "persistentVolumeClaim" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* One object of the base as an installation has it, or nothing. */}}
{{- define "gatehouse.object" -}}
{{- $values := .root.Values -}}
{{- $object := .object -}}
{{- $name := $object.metadata.name -}}
{{- $release := dict "app.kubernetes.io/instance" .root.Release.Name "app.kubernetes.io/managed-by" .root.Release.Service -}}
{{- $_ := set $object.metadata "labels" (merge ($object.metadata.labels | default dict) .labels $release) -}}
{{- if ne $object.kind "ConfigMap" }}{{ include "gatehouse.select" (dict "value" $object "labels" .labels) }}{{ end -}}
{{- $isWanted := true -}}
{{- if eq $object.kind "Service" -}}
{{- $_ := merge $object.spec.selector .labels -}}
{{- else if eq $object.kind "HorizontalPodAutoscaler" -}}
{{- $_ := mergeOverwrite $object.spec (pick (index $values.services $name | default dict) "minReplicas" "maxReplicas") -}}
{{- else if eq $object.kind "PersistentVolumeClaim" -}}
{{- $isWanted = and $values.uploads.volume (not $values.uploads.existingClaim) -}}
{{- $_ := set $object.spec.resources.requests "storage" $values.uploads.size -}}
{{- with $values.uploads.storageClass }}{{ $_ := set $object.spec "storageClassName" . }}{{ end -}}
{{- else if eq $object.kind "NetworkPolicy" -}}
{{- $isWanted = $values.networkPolicies.enabled -}}
{{- if eq $name "names-and-servers" -}}
{{- $_ := set $object.spec "egress" (concat $object.spec.egress $values.networkPolicies.egress) -}}
{{- else if and (eq $name "anyone-to-gateway") $values.networkPolicies.gatewayFrom -}}
{{- range $rule := $object.spec.ingress }}{{ $_ := set $rule "from" $values.networkPolicies.gatewayFrom }}{{ end -}}
{{- end -}}
{{- end -}}
{{- $job := dig "spec" "jobTemplate" "spec" dict $object -}}
{{- $template := dig "spec" "template" nil $object | default $job.template -}}
{{- with $template }}{{ include "gatehouse.pod" (dict "root" $.root "template" . "name" $name "labels" $.labels "checksum" $.checksum) }}{{ end -}}
{{- if and (eq $object.kind "Job") (eq $name "migrate") -}}
{{/* Before the pods of a release, and anew with each: a Job cannot be changed. */}}
{{- $hook := dict "helm.sh/hook" "pre-install,pre-upgrade" "helm.sh/hook-delete-policy" "before-hook-creation" -}}
{{- $_ := set $object.metadata "annotations" $hook -}}
{{- end -}}
{{- with index $values.overrides (printf "%s/%s" $object.kind $name) }}{{ $_ := mergeOverwrite $object . }}{{ end -}}
{{- if $isWanted }}
---
{{ toYaml $object }}
{{- end -}}
{{- end -}}
