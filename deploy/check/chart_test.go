// Package check holds the files under deploy/ against the tools that read them: Helm's engine and linter, the types of Kubernetes,
// the loader of Docker Compose, and the rules of .dockerignore. It is a module of its own, so that what these depend on stays out of
// the engine's.
package check

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	named       = "0815" // what YAML takes for a number
	chartFolder = "../helm/sutra"
	oldest      = "1.30.0" // Kubernetes that the chart says it is for
)

// installations are what a platform team may set.
var installations = map[string]string{
	"as it comes": "",
	"scaled":      "replicas: null",
	"all on": `
replicas: 3
image: {repository: registry.example:5000/sutra, tag: 1.2.3, pullPolicy: Always, pullSecrets: ["1"]}
secret: {name: "2", keys: {datasourceURL: "3", adminKeys: "yes", callbackSecret: "null", brokers: "~"}}
settings: {sutra.log.level: debug, sutra.tracing.ratio: "0.05", sutra.admin.oidc.issuer: https://issuer.example}
env: [{name: SHOP_URL, value: "http://shop"}, {name: TOKEN, valueFrom: {secretKeyRef: {name: x, key: z}}}]
port: 9090
service: {type: LoadBalancer, port: 8443}
drainSeconds: 10
shutdownGraceSeconds: 60
migration: {activeDeadlineSeconds: 1200}
disruptionBudget: {maxUnavailable: 34%}
serviceAccount: {name: "4", annotations: {a: b}}
resources: {requests: {cpu: "2", memory: 1Gi}, limits: {memory: 2Gi}}
podAnnotations: {c: d}
podLabels: {team: x}
nodeSelector: {disk: fast}
tolerations: [{key: sutra, operator: Exists, effect: NoSchedule}]
affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {matchLabels: {a: b}}}]}}
priorityClassName: "5"`,
	"all off": `
migration: {enabled: false}
disruptionBudget: {enabled: false}
serviceAccount: {create: false}
settings: {sutra.log.level: null, sutra.datasource.max-connections: null}
resources: null`,
}

// TestHelmLintsTheChart: it says nothing but that an icon would be nice.
func TestHelmLintsTheChart(t *testing.T) {
	kube, err := chartutil.ParseKubeVersion(oldest)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range installations {
		for _, said := range lint.AllWithKubeVersion(chartFolder, values(t, text), "shops", kube).Messages {
			if said.Severity > support.InfoSev || !strings.Contains(said.Error(), "icon is recommended") {
				t.Errorf("%s: %v", name, said)
			}
		}
	}
}

func TestChartIsForItsKubernetes(t *testing.T) {
	wanted := sutra(t).Metadata.KubeVersion
	if !chartutil.IsCompatibleRange(wanted, oldest) || chartutil.IsCompatibleRange(wanted, "1.29.9") {
		t.Errorf("kubeVersion %s is to allow %s and nothing older: the sleep of preStop is not in 1.29", wanted, oldest)
	}
}

// TestChartRefusesValues that it would ignore, or that cannot work.
func TestChartRefusesValues(t *testing.T) {
	for _, text := range []string{
		"replicaCount: 2", "replicas: 0", "port: 80", "image: {repository: ''}", "service: {type: Ingress}", "settings: {log.level: debug}",
		"settings: {sutra.shutdown.grace: PT1S}", // has a value of its own, which the pod's time to stop follows
	} {
		if _, err := render(t, text, strict); err == nil || !strings.Contains(err.Error(), "schema") {
			t.Errorf("values %q: got %v, want them refused by the schema", text, err)
		}
	}
}

// TestChartRenders as `helm template` does, to objects without a field that Kubernetes does not know, whose parts find each other.
func TestChartRenders(t *testing.T) {
	for name, text := range installations {
		t.Run(name, func(t *testing.T) {
			o := rendered(t, text)
			pod := o.Deployment.Spec.Template
			for what, selector := range map[string]labels.Set{
				"the deployment": o.Deployment.Spec.Selector.MatchLabels, "the service": o.Service.Spec.Selector,
				"the spread": pod.Spec.TopologySpreadConstraints[0].LabelSelector.MatchLabels,
			} {
				if len(selector) == 0 || !selector.AsSelector().Matches(labels.Set(pod.Labels)) {
					t.Errorf("%s selects %v, the pods are %v", what, selector, pod.Labels)
				}
			}
			replica := pod.Spec.Containers[0]
			if target := o.Service.Spec.Ports[0].TargetPort.StrVal; target != replica.Ports[0].Name {
				t.Errorf("the service leads to port %s, the container has %s", target, replica.Ports[0].Name)
			}
			for _, probe := range []*core.Probe{replica.StartupProbe, replica.LivenessProbe, replica.ReadinessProbe} {
				if probe.HTTPGet.Port.StrVal != replica.Ports[0].Name {
					t.Errorf("a probe asks port %v", probe.HTTPGet.Port)
				}
			}
			if drain := replica.Lifecycle.PreStop.Sleep.Seconds; *pod.Spec.TerminationGracePeriodSeconds <= drain {
				t.Errorf("the pod drains for %d s and is given %d s", drain, *pod.Spec.TerminationGracePeriodSeconds)
			}
			hardened(t, pod.Spec)
			if o.Job != nil {
				migrates(t, o)
			}
			if o.Budget != nil && !maps.Equal(o.Budget.Spec.Selector.MatchLabels, o.Deployment.Spec.Selector.MatchLabels) {
				t.Errorf("the budget selects %v", o.Budget.Spec.Selector)
			}
		})
	}
}

// TestChartSaysWhatItIsTold: what is set arrives where it should, and what is off is not there.
func TestChartSaysWhatItIsTold(t *testing.T) {
	plain, scaled := rendered(t, installations["as it comes"]), rendered(t, installations["scaled"])
	on, off := rendered(t, installations["all on"]), rendered(t, installations["all off"])
	pod, other := plain.Deployment.Spec.Template.Spec, on.Deployment.Spec.Template
	for what, right := range map[string]bool{
		"replicas":            *plain.Deployment.Spec.Replicas == 2 && *on.Deployment.Spec.Replicas == 3,
		"replicas, scaled":    scaled.Deployment.Spec.Replicas == nil,
		"image":               pod.Containers[0].Image == "ghcr.io/sutra-engine/sutra:"+sutra(t).Metadata.AppVersion,
		"image, set":          other.Spec.Containers[0].Image == "registry.example:5000/sutra:1.2.3" && other.Spec.ImagePullSecrets[0].Name == "1",
		"time to stop":        *pod.TerminationGracePeriodSeconds == 35 && *other.Spec.TerminationGracePeriodSeconds == 75,
		"service account":     pod.ServiceAccountName == named && plain.Account.Name == named,
		"service account set": other.Spec.ServiceAccountName == "4" && on.Account.Name == "4" && on.Account.Annotations["a"] == "b",
		"service account off": off.Deployment.Spec.Template.Spec.ServiceAccountName == "default" && off.Account == nil,
		"migration off":       plain.Job != nil && on.Job != nil && off.Job == nil,
		"budget off":          plain.Budget != nil && off.Budget == nil,
		"budget":              on.Budget.Spec.MaxUnavailable.StrVal == "34%",
		"metrics":             other.Annotations["prometheus.io/port"] == "9090" && other.Annotations["c"] == "d",
		"labels":              other.Labels["team"] == "x",
		"places":              other.Spec.NodeSelector["disk"] == "fast" && len(other.Spec.Tolerations) == 1 && other.Spec.Affinity.PodAntiAffinity != nil && other.Spec.PriorityClassName == "5",
		"service":             on.Service.Spec.Type == core.ServiceTypeLoadBalancer && on.Service.Spec.Ports[0].Port == 8443,
		"resources":           other.Spec.Containers[0].Resources.Limits.Memory().String() == "2Gi",
	} {
		if !right {
			t.Errorf("%s: not as it was set", what)
		}
	}
	for name, want := range map[string]string{
		"SUTRA_SHUTDOWN_GRACE": "PT60S", "SUTRA_HTTP_LISTEN": ":9090", "SUTRA_TRACING_RATIO": "0.05", "SUTRA_DATASOURCE_MAX_CONNECTIONS": "16", "SHOP_URL": "http://shop",
	} {
		if got := variable(other.Spec.Containers[0], name); got.Value != want {
			t.Errorf("%s: got %q, want %q", name, got.Value, want)
		}
	}
}

// hardened pods run as nobody, write nothing, and may do nothing more.
func hardened(t *testing.T, pod core.PodSpec) {
	t.Helper()
	own, c := pod.SecurityContext, pod.Containers[0].SecurityContext
	if !*own.RunAsNonRoot || *own.RunAsUser != 65532 || *pod.AutomountServiceAccountToken || *c.AllowPrivilegeEscalation || !*c.ReadOnlyRootFilesystem ||
		!slices.Equal(c.Capabilities.Drop, []core.Capability{"ALL"}) {
		t.Errorf("security: got %+v and %+v", own, c)
	}
}

// migrates: the job is a hook, on the database of the replicas, and needs nothing of the release, which is not there yet.
func migrates(t *testing.T, o objects) {
	t.Helper()
	if want := []release.HookEvent{release.HookPreInstall, release.HookPreUpgrade}; len(o.Hooks) != 1 || !slices.Equal(o.Hooks[0].Events, want) {
		t.Errorf("hooks: got %+v, want one at %v", o.Hooks, want)
	}
	pod, replica := o.Job.Spec.Template.Spec, o.Deployment.Spec.Template.Spec.Containers[0]
	hardened(t, pod)
	job := pod.Containers[0]
	if !slices.Equal(job.Args, []string{"migrate", "up"}) || job.Image != replica.Image || pod.ServiceAccountName != "" {
		t.Errorf("the job runs %v of %s as %q", job.Args, job.Image, pod.ServiceAccountName)
	}
	const address = "SUTRA_DATASOURCE_URL"
	if a, b := variable(job, address).ValueFrom, variable(replica, address).ValueFrom; a == nil || b == nil || *a.SecretKeyRef != *b.SecretKeyRef {
		t.Errorf("%s: the job has %v, the replicas %v", address, a, b)
	}
	if selector := labels.Set(o.Service.Spec.Selector); selector.AsSelector().Matches(labels.Set(o.Job.Spec.Template.Labels)) {
		t.Error("the service leads to the job as well")
	}
}

func variable(c core.Container, name string) core.EnvVar {
	at := slices.IndexFunc(c.Env, func(v core.EnvVar) bool { return v.Name == name })
	if at < 0 {
		return core.EnvVar{}
	}
	return c.Env[at]
}

// objects are what a release consists of; nil: there is none.
type objects struct {
	Deployment *apps.Deployment
	Service    *core.Service
	Account    *core.ServiceAccount
	Budget     *policy.PodDisruptionBudget
	Job        *batch.Job
	Hooks      []*release.Hook
}

// rendered reads what Helm renders as strictly as an API server does that is asked to.
func rendered(t *testing.T, text string) (o objects) {
	t.Helper()
	missing := strict
	if strings.Contains(text, "null") {
		missing = lenient // Helm takes a value away that is null
	}
	files, err := render(t, text, missing)
	if err != nil {
		t.Fatal(err)
	}
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		t.Fatal(err)
	}
	o.Hooks = hooks
	for _, hook := range hooks {
		manifests = append(manifests, releaseutil.Manifest{Name: hook.Path, Content: hook.Manifest})
	}
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, json.SerializerOptions{Yaml: true, Strict: true})
	for _, m := range manifests {
		object, _, err := decoder.Decode([]byte(m.Content), nil, nil)
		if err != nil {
			t.Fatalf("%s: %v\n%s", m.Name, err, m.Content)
		}
		o.take(t, object)
	}
	return o
}

func (o *objects) take(t *testing.T, object runtime.Object) {
	t.Helper()
	switch v := object.(type) {
	case *apps.Deployment:
		o.Deployment = v
	case *core.Service:
		o.Service = v
	case *core.ServiceAccount:
		o.Account = v
	case *policy.PodDisruptionBudget:
		o.Budget = v
	case *batch.Job:
		o.Job = v
	default:
		t.Errorf("a %T is not expected of this chart", object)
	}
}

// missing says what a template may do with a value that is not there.
type missing bool

const (
	lenient missing = false
	strict  missing = true
)

// render is a release by the names of the templates.
func render(t *testing.T, text string, m missing) (map[string]string, error) {
	t.Helper()
	ch := sutra(t)
	top, err := chartutil.ToRenderValues(ch, values(t, text), chartutil.ReleaseOptions{Name: named, Namespace: "shops", Revision: 1, IsInstall: true}, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Engine{Strict: bool(m)}.Render(ch, top)
	maps.DeleteFunc(files, func(name, _ string) bool { return strings.HasSuffix(name, "/NOTES.txt") })
	return files, err
}

func sutra(t *testing.T) *chart.Chart {
	t.Helper()
	ch, err := loader.Load(chartFolder)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func values(t *testing.T, text string) map[string]any {
	t.Helper()
	v, err := chartutil.ReadValues([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}
